-- Which object store has the objects of `media_objects`: it has an object with this text (`MediaStoreMark`).
create table partita.media_store (
    id text collate "C" not null,
    is_only boolean primary key default true check (is_only)
);
