-- One equality of the filter, the value hashed, by which a dependency is found where any document may match; null where there is none.
alter table partita.grant_dependencies add column field text collate "C", add column value bigint;
create index grant_dependencies_by_value on partita.grant_dependencies (app, database, collection, field, value)
    where _id is null;
