import type { Knex } from 'knex'
import { ACCOUNTS, SHARING } from '#migrations/baseline/accounts.ts'
import { CATALOG } from '#migrations/baseline/catalog.ts'
import { LIBRARIES } from '#migrations/baseline/libraries.ts'
import { EXPORTS, HEALTH, SETTINGS } from '#migrations/baseline/maintenance.ts'
import { MATCHING } from '#migrations/baseline/matching.ts'
import { COVERS, METADATA, PEOPLE } from '#migrations/baseline/metadata.ts'
import { NUMBERS } from '#migrations/baseline/numbers.ts'
import { PLUGINS } from '#migrations/baseline/plugins.ts'
import { READING, SHELVES } from '#migrations/baseline/reading.ts'
import { RECOMMENDATIONS } from '#migrations/baseline/recommendations.ts'
import { SEARCH, textSql } from '#migrations/baseline/search.ts'
import { SERIES_NUMBERS } from '#migrations/baseline/series-numbers.ts'
import { installWorker, TASKS } from '#migrations/baseline/tasks.ts'

/** The schema of the first release. Later changes are migrations of their own; this one stays as it is from then on. */
export async function up(knex: Knex): Promise<void> {
  // 'en-u-kn-true': digits compare as numbers and case only breaks ties, which is the natural order people expect.
  await knex.raw(`CREATE COLLATION IF NOT EXISTS carrel_natural (provider = icu, locale = 'en-u-kn-true')`)
  // Indexes for parts of words. Part of every PostgreSQL with its contrib modules; the owner of a database may create it.
  await knex.raw('CREATE EXTENSION IF NOT EXISTS pg_trgm')
  await installWorker(knex)
  const parts = [textSql(), ACCOUNTS, LIBRARIES, CATALOG, SHARING, METADATA, PEOPLE, SEARCH, READING, SHELVES, COVERS, TASKS, SETTINGS]
  for (const part of [...parts, PLUGINS, MATCHING, RECOMMENDATIONS, EXPORTS, HEALTH, NUMBERS, SERIES_NUMBERS]) await knex.raw(part)
}

/** Keeps the extension, which other tables of the database may use. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP SCHEMA IF EXISTS graphile_worker CASCADE;
    DROP TABLE IF EXISTS series_reading_due, series_reading, series_numbers_due, series_numbers, kept_number_changes, kept_numbers, health_probe, export_series, series_exports, dismissed_recommendations, recommendations, library_jobs, metadata_applications,
      plugin_failures, plugin_storage, plugin_sign_ins, plugin_records_shown, user_plugins, plugin_credentials, plugin_revocations, plugin_repository_sequences, plugin_consents, plugin_identities, plugin_repositories, plugin_versions,
      plugins, setting_history, chosen_settings, task_metrics, task_workers, tasks, read_list_books, read_lists, collection_series, collections,
      series_user_ratings, want_to_read, read_progress_removals, read_progress, series_search, book_search, cover_orphans, covers, series_people, book_people, people,
      series_external_ratings, book_external_links, series_external_links, book_external_ids, series_external_ids, series_alternate_titles,
      book_tags, book_genres, series_tags, series_genres, tags, genres, series_metadata, book_metadata, user_sharing_grants, series_sharing_tags,
      sharing_tags, duplicate_groups, book_suspects, book_errors, book_pages, books, series, scanned_folders, scans, libraries, known_devices,
      app_sessions, api_keys, refresh_tokens, sessions, user_preferences, users CASCADE;
    DROP FUNCTION IF EXISTS carrel_prefix_keys, carrel_prefix_sets, carrel_prefix_entry, carrel_id_names, carrel_alternate_titles_changed,
      carrel_series_metadata_changed, carrel_series_metadata_added, carrel_series_changed, carrel_series_added, carrel_book_metadata_changed,
      carrel_book_metadata_added, carrel_book_gone_or_back, carrel_book_changed, carrel_books_added, carrel_refresh_series, carrel_refresh_books,
      carrel_people, carrel_search_query, carrel_document, carrel_words, carrel_pattern, carrel_fold, carrel_add_cover_orphans,
      carrel_book_released, carrel_page_type, carrel_book_is_back, carrel_progress_recorded, carrel_progress_begun, carrel_progress_removed,
      carrel_catalog_changed, carrel_averages_changed, carrel_user_changed, carrel_books_counted_added, carrel_books_counted_changed, carrel_books_counted_removed, carrel_series_due, carrel_reading_due,
      carrel_series_counted_added, carrel_series_counted_changed, carrel_series_counted_removed, carrel_plugin_withdrawn;
    DROP COLLATION IF EXISTS carrel_natural;
  `)
}
