import { quoted, type Sql, sql } from '../sql.ts'
import { zoneOffsets } from '../zone-offsets.ts'

/** The local time in a zone, as a timestamp without one. The offsets are part of the statement: see `ZoneOffsets`. */
export function localTimeSql(time: Sql, zone: string): Sql {
  const utc = sql`(${time} AT TIME ZONE 'UTC')`
  if (zone === 'UTC') return utc
  const { changes, offsets } = zoneOffsets(zone)
  const listed = (all: readonly number[]) => quoted(`{${all.map((ms) => ms / 1000)}}`)
  const at = sql`width_bucket(extract(epoch FROM ${time})::double precision, ${listed(changes)}::double precision[])`
  return sql`(${utc} + (${listed(offsets)}::integer[])[${at} + 1] * interval '1 second')`
}
