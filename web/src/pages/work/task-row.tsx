import { RotateCw, X } from 'lucide-react'
import { Link } from 'wouter'
import { cancelTask, retryTask, type TaskRecord } from '#api/tasks.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { workTexts } from '#texts/work.ts'
import { resultWords } from './result-words.ts'
import style from './work.module.css'

const BADGES: Partial<Record<TaskRecord['status'], string>> = { failed: 'bad', processing: 'info', completed: 'good' }

/** What is done, for which work, how far it is, and why it failed. */
export function TaskRow({ task, mayWrite }: { task: TaskRecord; mayWrite: boolean }) {
  const { status, taskType, progress, lastError, attempts, maxAttempts, createdAt, scheduledFor, completedAt } = task
  const name = taskWords(taskType)
  const subject = subjectOf(task)
  const words = subject ? `${name}, ${subject.text}` : name
  const isOpen = isOpenTask(task)
  const facts = [
    completedAt ? workTexts.ended({ when: timeWords(completedAt) }) : workTexts.added({ when: timeWords(createdAt) }),
    status === 'pending' && Date.parse(scheduledFor) > Date.now() && workTexts.begins({ when: timeWords(scheduledFor) }),
    isOpen && attempts > 1 && workTexts.tries({ count: attempts, max: maxAttempts }),
    isOpen && progress && workTexts.progress({ current: progress.current, total: progress.total }),
    isOpen && progress?.message,
    ...resultWords(task),
  ].filter(Boolean)
  return (
    <li className="row">
      <span className="words">
        <span className={style['name']}>
          {name} <span className={`badge ${BADGES[status] ?? ''}`}>{workTexts[status]()}</span>
        </span>
        {subject && (
          <Link className="clip" href={subject.href} dir="auto">
            {subject.text}
          </Link>
        )}
        {lastError && status !== 'completed' && (
          <span className={style['reason']} dir="auto">
            {lastError}
          </span>
        )}
        <span className="sub">{facts.join(' · ')}</span>
        {status === 'processing' && progress && progress.total > 0 && (
          <span className="progress work-bar" style={{ '--at': `${(progress.current / progress.total) * 100}%` }} aria-hidden="true" />
        )}
      </span>
      {mayWrite && <TaskAction task={task} words={words} />}
    </li>
  )
}

const isOpenTask = ({ status }: TaskRecord): boolean => status === 'pending' || status === 'processing'

/** The one button that fits the status of the task, if any does. @param words its name for those who do not see the row */
function TaskAction({ task, words }: { task: TaskRecord; words: string }) {
  const { id, status } = task
  const isOpen = isOpenTask(task)
  if (!isOpen && status !== 'failed' && status !== 'cancelled') return null
  const label = isOpen ? workTexts.cancelNamed({ task: words }) : workTexts.retryNamed({ task: words })
  const act = () => (isOpen ? cancelTask(id).then(() => say(workTexts.canceled())) : retryTask(id).then(() => say(workTexts.retried())))
  return (
    <span className="end">
      <button
        type="button"
        className="icon-btn"
        aria-label={label}
        title={isOpen ? workTexts.cancel() : workTexts.retry()}
        onClick={() => void act().catch(sayFailure)}
      >
        <Icon of={isOpen ? X : RotateCw} />
      </button>
    </span>
  )
}

/** Types of later versions are said as the server names them. */
function taskWords(type: string): string {
  const words = (workTexts as Readonly<Record<string, unknown>>)[type]
  return typeof words === 'function' && type.includes('_') ? (words as () => string)() : type.replaceAll('_', ' ')
}

function subjectOf({
  bookId,
  bookTitle,
  seriesId,
  seriesTitle,
  libraryId,
  libraryName,
}: TaskRecord): { text: string; href: string } | null {
  if (bookId && bookTitle) return { text: bookTitle, href: `/books/${bookId}` }
  if (seriesId && seriesTitle) return { text: seriesTitle, href: `/series/${seriesId}` }
  return libraryId && libraryName ? { text: libraryName, href: `/libraries/${libraryId}` } : null
}
