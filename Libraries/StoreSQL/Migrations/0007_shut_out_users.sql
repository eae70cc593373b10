-- Users whose account is disabled or deleted; auth writes them. Here, because an upload is checked against it. Databases of before have it.
create table if not exists partita.shut_out_users (
    app text collate "C" not null,
    user_id text collate "C" not null,
    is_deleted boolean not null,
    since timestamptz not null default clock_timestamp(),
    primary key (app, user_id)
);
create index if not exists shut_out_users_by_time on partita.shut_out_users (since);
