#!/usr/bin/env node
/**
 * The entry of the `ottla` program. It only prepares the process, before any other module is loaded: compiled code is
 * cached between starts, and the thread pool that does all file work has more than Node's four threads, so that slow
 * fsyncs don't hold up reads.
 */
import { enableCompileCache } from 'node:module'

enableCompileCache()
process.env['UV_THREADPOOL_SIZE'] ??= '16'
const { runProgram } = await import('./program.ts')
process.exitCode = await runProgram(process.argv.slice(2))
