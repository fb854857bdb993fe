/** mocha's root hooks: the broker and its well-behaved client live through all tests, and are checked after each. */
import { setWorld, World, world } from './world.ts'

export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    setWorld(await World.open())
  },
  beforeEach(): void {
    world().begin()
  },
  async afterEach(): Promise<void> {
    await world().check()
  },
  async afterAll(): Promise<void> {
    await world().close()
    setWorld(undefined)
  },
}
