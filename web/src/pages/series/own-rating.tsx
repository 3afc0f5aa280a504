import { useQuery } from '@tanstack/react-query'
import { Star, StarOff } from 'lucide-react'
import { ownRatingQuery, rateSeries } from '#api/ratings.ts'
import type { FullSeriesRecord } from '#api/records.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { seriesTexts } from '#texts/series.ts'
import style from './series.module.css'

/** The API rates from 1 to 100; people choose of ten. Apps may have set values between. */
const STEP = 10
const CHOICES = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
export const ratingWords = (rating: number): string => numbers.format(rating / STEP)

/** What the user thinks of a series; a menu changes it. */
export function OwnRating({ series: { id, title } }: { series: FullSeriesRecord }) {
  const own = useQuery(ownRatingQuery(id)).data
  const rating = own?.rating ?? null
  const notes = own?.notes ?? null
  const rate = (to: number | null) => {
    const undo = () => void rateSeries(id, rating, notes).catch(sayFailure)
    const words = to === null ? seriesTexts.unrated({ title }) : seriesTexts.rated({ title, rating: ratingWords(to) })
    rateSeries(id, to, notes).then(() => say(words, undo), sayFailure)
  }
  const { openFrom, menu } = useMenu(seriesTexts.yourRating(), () => [
    ...CHOICES.map((choice) => ({
      text: seriesTexts.ratedOf({ rating: choice }),
      icon: Star,
      isChosen: choice * STEP === rating,
      run: () => rate(choice * STEP),
    })),
    ...(rating === null ? [] : [{ text: seriesTexts.unrate(), icon: StarOff, run: () => rate(null) }]),
  ])
  const words = rating === null ? seriesTexts.rate() : seriesTexts.ratedOf({ rating: ratingWords(rating) })
  return (
    <>
      <button
        type="button"
        className={`${style['rate']} ${rating === null ? '' : style['rated']}`}
        aria-label={`${seriesTexts.yourRating()}: ${words}`}
        aria-haspopup="menu"
        onClick={openFrom}
      >
        <Icon of={Star} />
        {words}
      </button>
      {menu}
    </>
  )
}
