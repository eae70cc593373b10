-- Users whose account is deleted or disabled: no decision gives them anything.
create table partita.shut_out (
    app text collate "C" not null,
    user_id text collate "C" not null,
    since timestamptz not null default now(),
    primary key (app, user_id)
);
