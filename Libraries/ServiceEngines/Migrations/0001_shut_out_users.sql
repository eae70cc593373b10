create table partita.shut_out_users (
    app text collate "C" not null,
    user_id text collate "C" not null,
    is_deleted boolean not null,
    since timestamptz not null default clock_timestamp(),
    primary key (app, user_id)
);
create index shut_out_users_by_time on partita.shut_out_users (since);
