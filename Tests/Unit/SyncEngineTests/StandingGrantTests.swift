import DocumentModel
import SyncEngine
import Testing

struct StandingGrantTests {
    /// A grant that comes by the topic.
    private struct Heard {
        let access: Access
        let number: Int64
        var isForEveryone = false
    }

    private func version(_ number: Int64) -> Revision { Revision(epoch: 1, number: number) }

    /// What grants mean, one after the other, for a subscription that has read one of version 5.
    private func effects(afterShared isForEveryone: Bool, _ heard: [Heard]) -> [StandingGrant.Effect] {
        var grant = StandingGrant()
        _ = grant.take(version: version(5), expires: nil, isForEveryone: isForEveryone)
        return heard.map {
            grant.hear($0.access, version: version($0.number), expires: nil, isForEveryone: $0.isForEveryone)
        }
    }

    @Test func `the end of the grant for all users ends what is served by it, and nothing else`() {
        let shared = effects(
            afterShared: true,
            [
                Heard(access: .none, number: 5, isForEveryone: true),
                Heard(access: .write, number: 6, isForEveryone: true),
                Heard(access: .none, number: 7, isForEveryone: true),
            ])
        #expect(shared == [.none, .replaced, .lapsed])
        let own = effects(
            afterShared: false,
            [Access.none, .read, .write].map { Heard(access: $0, number: 6, isForEveryone: true) })
        #expect(own == [.none, .none, .none])
    }

    @Test func `an own grant takes the place of the one for all users`() {
        let effects = effects(
            afterShared: true,
            [
                // An answer of number 0 is for others who wait.
                Heard(access: .none, number: 0),
                // It came by another Kafka partition, after a newer one for all users.
                Heard(access: .none, number: 4), Heard(access: .none, number: 6),
                Heard(access: .write, number: 7, isForEveryone: true),
            ])
        #expect(effects == [.none, .lapsed, .replaced, .none])
    }

    @Test func `an answer of a later epoch doesn't hide the end of the grant for all users`() {
        var grant = StandingGrant()
        _ = grant.take(version: version(5), expires: nil, isForEveryone: true)
        let answer = grant.hear(.read, version: Revision(epoch: 2, number: 0), expires: nil)
        let end = grant.hear(.none, version: Revision(epoch: 2, number: 9), expires: nil, isForEveryone: true)
        #expect([answer, end] == [.none, .lapsed])
    }

    @Test func `who hears of its end before reading it isn't served by it`() {
        var grant = StandingGrant()
        let first = grant.hear(.read, version: version(5), expires: nil, isForEveryone: true)
        let second = grant.hear(.none, version: version(6), expires: nil, isForEveryone: true)
        #expect([first, second] == [.none, .lapsed])
    }
}
