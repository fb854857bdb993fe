/** The files of the page, as they lie beside this module: read once, held in memory. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

export interface PageFile {
  readonly contentType: string
  readonly body: Buffer
  readonly etag: string
}

const FOLDER = join(import.meta.dirname, 'page')
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** By file name. */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>()
  for (const name of await readdir(FOLDER)) {
    const contentType = CONTENT_TYPES[extname(name)]
    if (contentType === undefined || name.includes('.test.')) continue
    const body = await readFile(join(FOLDER, name))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    files.set(name, { contentType, body, etag })
  }
  return files
}
