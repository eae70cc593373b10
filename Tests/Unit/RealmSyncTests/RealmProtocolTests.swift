import RealmSync
import Testing

struct RealmProtocolTests {
    private static func token(_ offered: String...) -> String? { RealmProtocol.choose(from: offered)?.token }

    @Test func `the highest version of a client is chosen`() {
        let offered = (2...14).reversed().map { "com.mongodb.realm-sync#\($0)" }
        let chosen = RealmProtocol.choose(from: offered)
        #expect(chosen?.version == 14)
        #expect(chosen?.token == "com.mongodb.realm-sync#14")
    }

    @Test func `old and new clients are answered in their own form`() {
        #expect(Self.token("com.mongodb.realm-sync/2", "com.mongodb.realm-sync/7") == "com.mongodb.realm-sync/7")
        #expect(Self.token("com.mongodb.realm-sync#99", "com.mongodb.realm-sync#13") == "com.mongodb.realm-sync#13")
        #expect(Self.token("com.mongodb.realm-sync#2-7") == "com.mongodb.realm-sync#7")
        #expect(Self.token("com.mongodb.realm-sync/5-99") == "com.mongodb.realm-sync/14")
    }

    @Test(arguments: [
        "", "com.mongodb.realm-sync#", "com.mongodb.realm-sync#1", "com.mongodb.realm-sync#15",
        "com.mongodb.realm-sync#15-20",
        "com.mongodb.realm-sync#7-2", "com.mongodb.realm-sync#-7", "com.mongodb.realm-sync#7-",
        "com.mongodb.realm-sync#+7",
        "com.mongodb.realm-sync#99999999999999999999", "com.mongodb.realm-query-sync#14", "partita.sync.v1",
    ])
    func `other subprotocols aren't spoken`(offered: String) {
        #expect(Self.token(offered) == nil)
    }
}
