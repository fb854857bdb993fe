/**
 * Installs what the end-to-end suites need and the machine lacks: `npm run e2e:setup`. With `web` as argument only what the
 * suite of the web port needs.
 */
import { KafkaTools } from './kafka/tools.ts'
import { installClients, installPackages } from './interop/install-clients.ts'
import { findChromium } from './web/chromium.ts'
import { MissingRequirementError } from './lib/requirements.ts'

const isForWeb = process.argv[2] === 'web'

try {
  if (isForWeb) {
    // Another Chromium than Debian's will do.
    if (findChromium() === undefined) await installPackages(['chromium'])
    await installPackages(['kcat'])
  } else {
    await KafkaTools.open()
    await installClients()
  }
  console.log(isForWeb ? 'ready for e2e:web' : 'ready for e2e:interop, e2e:web, e2e:crash and bench')
} catch (error) {
  if (!(error instanceof MissingRequirementError)) throw error
  console.error(`e2e:setup: ${error.message}`)
  process.exitCode = 1
}
