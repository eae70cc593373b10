import Postgres

/// The tables that permissions owns, beside `partita.grants`, which `DocumentStore` creates and permissions writes.
enum PermissionsMigrations {
    static let all = Migrations(
        owner: "permissions",
        files: [
            (number: 1, name: "decisions", sql: decisions), (number: 2, name: "fences", sql: fences),
            (number: 3, name: "dependency-anchors", sql: anchors), (number: 4, name: "shut-out", sql: shutOut),
            (number: 5, name: "shut-out-by-auth", sql: shutOutByAuth), (number: 6, name: "lives", sql: lives),
        ])

    private static let decisions = #"""
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
        """#

    private static let fences = #"""
        -- Revocations without a receipt; written with the grant.
        create table partita.fences (
            app text collate "C" not null,
            partition text collate "C" not null,
            user_id text collate "C" not null,
            epoch integer not null,
            version bigint not null,
            -- When the broker had the grant, and the gateways that could have served the pair then; null before.
            published_at timestamptz,
            gateways text[],
            answered text[] not null default '{}',
            primary key (app, partition, user_id, epoch, version)
        );
        """#

    private static let anchors = #"""
        -- One equality of the filter, the value hashed, by which a dependency is found where any document may match; null where there is none.
        alter table partita.grant_dependencies add column field text collate "C", add column value bigint;
        create index grant_dependencies_by_value on partita.grant_dependencies (app, database, collection, field, value)
            where _id is null;
        """#

    private static let shutOut = #"""
        -- Users whose account is deleted or disabled: no decision gives them anything.
        create table partita.shut_out (
            app text collate "C" not null,
            user_id text collate "C" not null,
            since timestamptz not null default now(),
            primary key (app, user_id)
        );
        """#

    private static let shutOutByAuth = #"""
        -- Auth writes them now, where all services read them.
        insert into partita.shut_out_users (app, user_id, is_deleted, since)
            select app, user_id, false, since from partita.shut_out on conflict do nothing;
        drop table partita.shut_out;
        """#

    private static let lives = #"""
        -- Another one each time that the subject is forgotten and asks again: a decision that began before finds it gone.
        alter table partita.grant_subjects add column life bigint generated always as identity;
        -- Whether a grant has followed: what is left of a question whose decision ended with its process is found by it.
        alter table partita.grant_subjects add column is_decided boolean not null default false;
        update partita.grant_subjects s set is_decided = true where exists (
            select from partita.grants g where (g.app, g.partition, g.user_id) = (s.app, s.partition, s.user_id));
        create index grant_subjects_undecided on partita.grant_subjects (asked_at) where not is_decided;
        -- Grants that gave nothing are removed: the numbers of those that follow have to be higher. Those before were counted by pair.
        create sequence partita.grant_versions start 1000001;
        create index grants_of_none on partita.grants (decided_at) where access = 'none';
        """#
}
