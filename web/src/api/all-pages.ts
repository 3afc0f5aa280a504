/** The API's longest page. */
export const PAGE_SIZE_MAX = 500

interface PageOf<T> {
  data: T[]
  total: number
  totalPages: number
}

/**
 * Asks for one page after the other.
 * @param pagesMax how many at most; what is left out is known by `total`
 */
export async function askAllPages<T>(
  askPage: (query: { page: number; pageSize: number }) => Promise<PageOf<T>>,
  pagesMax = Number.POSITIVE_INFINITY,
): Promise<{ data: T[]; total: number }> {
  const data: T[] = []
  for (let page = 1; ; page++) {
    const answer = await askPage({ page, pageSize: PAGE_SIZE_MAX })
    data.push(...answer.data)
    if (page >= Math.min(answer.totalPages, pagesMax)) return { data, total: answer.total }
  }
}
