import { once } from 'node:events'
import type http from 'node:http'
import { ToolProblem } from './command.ts'

/** Lets a server listen for programs on this machine only. @param advice for the case that the port is in use. @throws ToolProblem */
export async function listenLocally(server: http.Server, port: number, advice: string): Promise<void> {
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ToolProblem(code === 'EADDRINUSE' ? `Port ${port} is in use. ${advice}` : message, { cause: error })
  }
}
