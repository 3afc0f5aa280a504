/** The sign of the program. */
export function CarrelMark() {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d="M4 20.5V10.5a8 8 0 0 1 16 0v10M12 20.5v-6.5c-1.2-1.2-2.8-1.8-4.6-1.8v6.4c1.8 0 3.4.7 4.6 1.9c1.2-1.2 2.8-1.9 4.6-1.9v-6.4c-1.8 0-3.4.6-4.6 1.8" />
    </svg>
  )
}
