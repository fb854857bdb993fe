/** After `tsc`: copies the files of the web port's page, which are served as they are, to where the compiled server looks. */
import { cpSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'

const page = join('broker', 'server', 'web', 'page')
const root = join(import.meta.dirname, '..')
for (const name of readdirSync(join(root, page))) {
  if (!['.html', '.css', '.js', '.svg'].includes(extname(name))) continue
  cpSync(join(root, page, name), join(root, 'dist', page, name))
}
