import 'react'

declare module 'react' {
  /** Variables of the styles, such as `--at`. */
  interface CSSProperties {
    [name: `--${string}`]: string | number | undefined
  }
}
