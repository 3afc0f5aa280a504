import type { components } from '#api/schema.d.ts'

export type Book = components['schemas']['Book']
export type BookPage = components['schemas']['BookPage']
export type Manifest = components['schemas']['WebPublication']
export type Progression = components['schemas']['Progression']
