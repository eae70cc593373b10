-- Whether the documents of a collection that have no value for the partition key are in the null partition.
alter table partita.collections add column null_partition boolean not null default false;
-- It has one more argument since.
drop function if exists partita.ensure_collection(text, text, text, text);
