import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Postgres
import ServiceEngines
import TestSupport
import Testing

@testable import Permissions

/// First answers that are committed together.
struct FirstAnswersTests {
    private static let loops = LoopGroup(1)
    private static let app = "patio"

    private static func subject(_ user: String, _ partition: String) -> Subject {
        Subject(app: app, user: user, partition: Partition(text: "s:\(partition)"))
    }

    @Test func `many questions get what each would get alone`() async throws {
        let configuration = PostgresConfiguration(url: try await TestEngines.shared().makeDatabase())
        try await PostgresClient.withClient(configuration, on: Self.loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            try await ShutOutTable.migrations.apply(on: client)
            try await PermissionsMigrations.all.apply(on: client)
            let answers = FirstAnswers(client: client)
            let read = Verdict(.read, reason: "a test \0")
            #expect(try await answers.commit(read, on: Self.subject("known", "p0"), claims: [:]) != nil)
            _ = try await client.query(
                "insert into partita.shut_out_users (app, user_id, is_deleted) values ($1, 'blocked', true)",
                [.text(Self.app)])
            _ = try await client.query(
                "insert into partita.partitions (app, partition, epoch, head) select $1, 's:p' || n, 1, 0 from generate_series(0, 9) n",
                [.text(Self.app)])

            // Each of ten partitions by twenty users, by one who has a grant of the first, by one who is blocked, and four times for all.
            var subjects: [Subject] = []
            for partition in 0..<10 {
                let users = (0..<20).map { "user-\($0)" } + ["known", "blocked", "*", "*", "*", "*"]
                for user in users { subjects.append(Self.subject(user, "p\(partition)")) }
            }
            let expiring = Verdict(access: .write, reason: "for now", dependencies: [], isUntracked: true)
            let granted = try await withThrowingTaskGroup(of: (Int, Grant?).self) { group in
                for (place, subject) in subjects.enumerated() {
                    let verdict = place.isMultiple(of: 2) ? read : expiring
                    group.addTask {
                        (place, try await answers.commit(verdict, on: subject, claims: ["sub": .string(subject.user)]))
                    }
                }
                var granted: [Int: Grant] = [:]
                for try await (place, grant) in group { granted[place] = grant }
                return granted
            }

            for (place, subject) in subjects.enumerated() where subject.user.hasPrefix("user-") {
                let grant = try #require(granted[place])
                #expect(grant.user == subject.user && grant.partition == subject.partition && !grant.isFence)
                #expect(grant.access == (place.isMultiple(of: 2) ? .read : .write))
                #expect(grant.reason == (place.isMultiple(of: 2) ? "a test \u{FFFD}" : "for now"))
                #expect((grant.expires == nil) == place.isMultiple(of: 2))
            }
            let answered = granted.keys.map { subjects[$0] }
            #expect(Set(answered).count == answered.count && answered.count == 10 * 20 + 9 + 10)
            #expect(!answered.contains { $0.user == "blocked" || $0 == Self.subject("known", "p0") })
            #expect(Set(granted.values.map(\.version)).count == granted.count)

            let rows = try await client.query(
                """
                select count(*), count(*) filter (where s.is_decided and (s.claims like '%' || g.user_id || '%' or g.user_id = 'known')),
                    count(distinct o) from partita.grants g
                left join partita.grant_subjects s using (app, partition, user_id)
                left join partita.grant_outbox o using (app, partition, user_id)
                """
            ).decode((Int64, Int64, Int64).self)
            #expect(rows.first.map { [$0.0, $0.1, $0.2] } == [220, 220, 220])

            // What they find who ask next: their own grant, that for all users if its rules are the present ones, and that they are blocked.
            var standings: [FirstAnswers.Standing] = []
            for user in ["user-3", "blocked", "nobody"] {
                standings.append(try await answers.standing(of: Self.subject(user, "p4"), by: nil))
            }
            #expect(standings.map { $0.own?.access != nil } == [true, false, false])
            #expect(standings.map(\.isShutOut) == [false, true, false])
            #expect(standings.allSatisfy { $0.shared == nil })
        }
    }
}
