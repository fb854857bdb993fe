/** mocha's root hooks: one broker and one browser live through all tests. */
import { setWorld, World, world } from './world.ts'

export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    setWorld(await World.open())
  },
  async afterAll(): Promise<void> {
    await world().close()
    setWorld(undefined)
  },
}
