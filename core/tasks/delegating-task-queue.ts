import type { Concurrency, NewTask, TaskHandler, TaskQueue, TasksOf, TaskType } from '#core/tasks/task.ts'

/** Passes every call to another queue; queues that change one behavior extend it. */
export class DelegatingTaskQueue implements TaskQueue {
  protected readonly tasks: TaskQueue

  constructor(tasks: TaskQueue) {
    this.tasks = tasks
  }

  add(task: NewTask): ReturnType<TaskQueue['add']> {
    return this.tasks.add(task)
  }

  addMany(tasks: readonly NewTask[]): Promise<number> {
    return this.tasks.addMany(tasks)
  }

  handle(type: TaskType, options: Concurrency, handler: TaskHandler): void {
    this.tasks.handle(type, options, handler)
  }

  start(): Promise<void> {
    return this.tasks.start()
  }

  stop(): Promise<void> {
    return this.tasks.stop()
  }

  cancel(taskId: string): Promise<boolean> {
    return this.tasks.cancel(taskId)
  }

  cancelAll(which: TasksOf): Promise<number> {
    return this.tasks.cancelAll(which)
  }

  retry(taskId: string): Promise<boolean> {
    return this.tasks.retry(taskId)
  }
}
