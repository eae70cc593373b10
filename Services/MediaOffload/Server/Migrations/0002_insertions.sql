-- Which document the link is in: a later one under the same `_id` has another number. Null in rows of earlier versions.
alter table partita.media_references add column insertion bigint;
