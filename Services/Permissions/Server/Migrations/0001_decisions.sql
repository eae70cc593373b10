-- What a decision looked at: a change of a matching document may change the answer.
create table partita.grant_dependencies (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    -- The key text where the filter asks for one `_id`; null where any document may match.
    _id text collate "C",
    filter text not null,
    partition text collate "C" not null,
    user_id text collate "C" not null
);
create unique index grant_dependencies_of_pair on partita.grant_dependencies
    (app, partition, user_id, database, collection, md5(filter));
create index grant_dependencies_by_id on partita.grant_dependencies (app, database, collection, _id);

-- What the access token said of the user when the question was asked: later decisions need it as well.
create table partita.grant_subjects (
    app text collate "C" not null,
    partition text collate "C" not null,
    user_id text collate "C" not null,
    claims text not null,
    asked_at timestamptz not null default now(),
    primary key (app, partition, user_id)
);

-- Decisions that the topic doesn't have yet; written with the grant, deleted when the broker has it.
create table partita.grant_outbox (
    app text collate "C" not null,
    partition text collate "C" not null,
    user_id text collate "C" not null,
    primary key (app, partition, user_id)
);
