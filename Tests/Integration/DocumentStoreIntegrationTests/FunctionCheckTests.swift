import DocumentStore
import EventStream
import Postgres
import TestSupport
import Testing

/// What plpgsql_check finds in the functions: names of columns, types and variables that a call would fail on.
@Suite struct FunctionCheckTests {
    @Test func `the checker finds no problem in a function`() async throws {
        try await StoreFixture.with { fixture in
            try await HandledEvents.migrations.apply(on: fixture.client)
            try await fixture.client.execute("create extension plpgsql_check")
            let found = try await fixture.client.query(
                """
                select p.proname, c from pg_proc p
                join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
                left join lateral (select tgrelid from pg_trigger t where t.tgfoid = p.oid limit 1) t on true
                cross join lateral plpgsql_check_function(
                    p.oid, coalesce(t.tgrelid, 0), other_warnings => false, extra_warnings => false) c
                where p.pronamespace = 'partita'::regnamespace order by p.proname
                """
            ).decode((String, String).self)
            for (function, complaint) in found { Issue.record("\(function): \(complaint)") }
            let checked = try await fixture.client.query(
                "select count(*) from pg_proc where pronamespace = 'partita'::regnamespace"
            ).decode(Int.self)
            #expect(checked[0] > 40)
        }
    }
}
