/** The names that a request mentions more than once: admin requests are refused for these, as Kafka does it. */
export function duplicatesOf(names: Iterable<string>): ReadonlySet<string> {
  const seen = new Set<string>()
  const duplicates = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) duplicates.add(name)
    else seen.add(name)
  }
  return duplicates
}
