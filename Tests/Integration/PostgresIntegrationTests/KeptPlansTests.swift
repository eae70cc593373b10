import Postgres
import Testing

@Suite struct KeptPlansTests {
    @Test func `a look-up is planned once, reads by the index, and leaves no settings`() async throws {
        try await withConnection { connection in
            try await connection.execute("CREATE TABLE k (id text PRIMARY KEY, n bigint)")
            try await connection.execute("INSERT INTO k VALUES ('a', 1)")
            try await connection.execute("ANALYZE k")
            let sql = """
                SELECT w.id, k.n FROM unnest($1::text[]) w(id)
                LEFT JOIN LATERAL (SELECT n FROM k WHERE k.id = w.id OFFSET 0) k ON true
                """
            for id in ["a", "b", "c"] {
                let row = try await connection.lookUp(sql, [.textArray([id])]).first
                #expect(try row?.decode(1, as: Int64?.self) == (id == "a" ? 1 : nil))
            }
            let plans = try await connection.query(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = $1", [.text(sql)]
            ).decode((Int64, Int64).self)
            #expect(plans.map(\.0) == [3] && plans.map(\.1) == [0])
            let explain = "EXPLAIN SELECT n FROM k WHERE id = 'a'"
            let plan = try await connection.query(explain).decode(String.self).joined()
            #expect(plan.contains("Seq Scan"), "this test says nothing: \(plan)")
            let kept = try await connection.lookUp(explain, []).decode(String.self).joined()
            #expect(kept.contains("Index Scan"), "\(kept)")
            let settings = try await connection.query(
                "SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan')"
            ).decode((String, String).self)
            #expect(settings.map(\.0) == ["auto"] && settings.map(\.1) == ["on"])
        }
    }
}
