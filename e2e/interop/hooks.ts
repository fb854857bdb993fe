/** mocha's root hooks: the broker and the clients start before the first test and end after the last one. */
import { setWorld, World, world } from './world.ts'

let opened: World | undefined

export const mochaHooks = {
  async beforeAll(): Promise<void> {
    opened = await World.open()
    setWorld(opened)
  },
  async afterAll(): Promise<void> {
    if (opened === undefined) return
    await world().closeClients()
    // The last file of the suite stops the broker; an earlier failure may have left it running.
    await world()
      .broker.kill()
      .catch(() => undefined)
    setWorld(undefined)
  },
}
