/** Installs what the end-to-end suites need and the machine lacks: `npm run e2e:setup`. */
import { KafkaTools } from './kafka/tools.ts'
import { installClients } from './interop/install-clients.ts'
import { MissingRequirementError } from './lib/requirements.ts'

try {
  await KafkaTools.open()
  await installClients()
  console.log('ready for e2e:interop, e2e:web, e2e:crash and bench')
} catch (error) {
  if (!(error instanceof MissingRequirementError)) throw error
  console.error(`e2e:setup: ${error.message}`)
  process.exitCode = 1
}
