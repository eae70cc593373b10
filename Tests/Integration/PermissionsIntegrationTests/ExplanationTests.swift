import AppDeployment
import AppRegistry
import DocumentModel
import EventLoop
import Postgres
import TestSupport
import Testing

/// What operators are told about access: by a comparison before a deployment, and by an explanation.
@Suite struct ExplanationTests {
    @Test func `a comparison counts who gains and who loses access, and an explanation says why`() async throws {
        let fixture = try await PermissionsFixture.own()
        for number in 0..<6 {
            let user = "told-\(number)"
            try await fixture.members.insertOne([
                "_id": .string(user), "partition": "m", "rooms": ["told-hall", .string("told-\(number)-room")],
            ])
            try await fixture.ask(user, "told-hall")
        }
        for number in 0..<6 { _ = try await fixture.grant(.write, of: "told-\(number)", "told-hall") }
        try await fixture.postgres.execute(
            """
            insert into partita.uploads (app, user_id, device, partition, last_version, recent)
            values ($1, 'told-1', 'phone', 's:told-hall', 7, '')
            """, [.text(PermissionsFixture.app)])
        let loops = LoopGroup(1)
        let deployments = AppDeployments(
            client: fixture.postgres, registry: AppRegistry(client: fixture.postgres), loop: loops.next(),
            operator: "ada@test", publish: { _ in })

        var files = PermissionsFixture.files
        #expect(try await deployments.difference(files).isEmpty)
        // Everybody may write the news, and only half of the people the hall.
        files.texts["functions/mayWrite.js"] = """
            exports = async function (partition) {
                if (partition === "news") { return true; }
                const members = context.services.get("mongodb-atlas").db("Test").collection("Member");
                const member = await members.findOne({_id: context.user.id});
                return member !== null && member.rooms.includes(partition) && context.user.id < "told-3";
            };
            """
        try await fixture.ask("told-0", "news")
        _ = try await fixture.grant(.read, of: "told-0", "news")
        let difference = try await deployments.difference(files)
        #expect(difference.features.map { "\($0.kind) \($0.feature) \($0.name)" } == ["changed function mayWrite"])
        #expect(difference.files.map(\.name) == ["functions/mayWrite.js"])
        let access = try #require(difference.access)
        #expect(access.losses == 3 && access.gains == 6 && access.failed == 0, "\(access.lines)")
        #expect(access.evaluated == access.pairs, "\(access.lines)")
        #expect(access.lines.contains("  told-0  s:news  read → write"), "\(access.lines)")

        let explained = try await deployments.explain(
            PermissionsFixture.app, user: "told-1", partition: "s:told-hall", document: "s:told-1")
        let text = explained.lines.joined(separator: "\n")
        #expect(text.contains("%%partition is \"told-hall\""), "\(text)")
        #expect(text.contains("reads Test.Member {\"_id\":\"told-1\"}"), "\(text)")
        #expect(text.contains("mayWrite(\"told-hall\") returns true"), "\(text)")
        #expect(text.contains("the rules say now: write, because of: sync.partition.permissions.write"), "\(text)")
        #expect(text.contains("grant: write, version "), "\(text)")
        #expect(text.contains("device phone: its changeset 7 was the last to arrive"), "\(text)")
        #expect(text.contains("s:told-1 of Test.Member is in "), "\(text)")
        let denied = try await deployments.explain(PermissionsFixture.app, user: "nobody", partition: "s:told-hall")
        #expect(denied.lines.contains("the rules say now: none, because of: no rule allows it"), "\(denied.lines)")
        #expect(denied.lines.contains { $0.hasPrefix("no grant") })
        let broken = try await deployments.explain(PermissionsFixture.app, user: "told-1", partition: "s:broken-a")
        #expect(broken.lines.contains { $0.contains("fails: ") && $0.contains("no rule for this") }, "\(broken.lines)")
    }
}
