-- What is acknowledged with a changeset of a client: its version, or a later one in which it had nothing to upload.
alter table partita.realm_history add column acknowledges bigint not null default 0;

-- The refused writes that the changeset undoes: the client is told of them before it gets it, also if it has lost its connection meanwhile.
alter table partita.realm_history add column refused text;

-- The version of the history that the client's newest changeset has made, and what was acknowledged before that.
alter table partita.realm_files
    add column uploaded bigint not null default 0,
    add column acknowledged bigint not null default 0;
