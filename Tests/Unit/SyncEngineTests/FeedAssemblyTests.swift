import DocumentModel
import SyncEngine
import Testing

@Suite struct FeedAssemblyTests {
    private typealias Assembly = FeedAssembly<Int64>

    private func change(_ number: Int64, epoch: Int32 = 1, continues: Bool = false, size: Int = 1) -> Assembly.Message {
        .change(number, Revision(epoch: epoch, number: number), size: size, continues: continues)
    }

    /// `[1, 2]` as "0-2: 1 2", an announcement of 3 as "3".
    private func texts(_ runs: [Assembly.Run]) -> [String] {
        runs.map { run in
            switch run {
            case .changes(let changes, let from, let to):
                "\(from.number)-\(to.number): \(changes.map(String.init).joined(separator: " "))"
            case .announcement(let revision): "\(revision.number)"
            }
        }
    }

    @Test func `commits that came together are one run`() {
        var assembly = Assembly(limit: 100)
        #expect(texts(assembly.take([change(1), change(2, continues: true), change(3)])) == ["0-3: 1 2 3"])
        #expect(texts(assembly.take([change(4)])) == ["3-4: 4"])
    }

    @Test func `an unfinished commit waits for its end, wherever it is cut`() {
        for cut in 0...4 {
            var assembly = Assembly(limit: 100)
            let messages = (1...4).map { change($0, continues: $0 < 4) }
            let first = assembly.take(messages.prefix(cut))
            let second = assembly.take(messages.dropFirst(cut))
            #expect(texts(first + second) == ["0-4: 1 2 3 4"])
        }
    }

    @Test func `a gap ends a run, and an unfinished commit before it is dropped`() {
        var assembly = Assembly(limit: 100)
        let runs = assembly.take([change(1), change(2, continues: true), change(4, continues: true), change(5)])
        #expect(texts(runs) == ["0-1: 1", "3-5: 4 5"])
    }

    @Test func `what was taken needn't be read again, also what this process has committed`() {
        var assembly = Assembly(limit: 100)
        let revision = { Revision(epoch: 1, number: $0) }
        #expect(!assembly.hasTaken(revision(1)))
        _ = assembly.take([change(1), change(2, continues: true)])
        #expect(assembly.hasTaken(revision(2)) && !assembly.hasTaken(revision(3)))
        _ = assembly.take([change(3)])
        _ = own(4...6, to: &assembly)
        #expect(assembly.hasTaken(revision(6)) && !assembly.hasTaken(revision(7)))
        // Of others' commits before it nothing is known yet.
        _ = own(9...9, to: &assembly)
        #expect(!assembly.hasTaken(revision(7)) && !assembly.hasTaken(revision(9)))
        #expect(!assembly.hasTaken(Revision(epoch: 2, number: 1)))
    }

    @Test func `another epoch begins a run`() {
        var assembly = Assembly(limit: 100)
        let runs = assembly.take([change(1), change(2, epoch: 2)])
        #expect(texts(runs) == ["0-1: 1", "1-2: 2"])
    }

    @Test func `a relay that begins again in the middle of a commit doesn't divide it`() {
        var assembly = Assembly(limit: 100)
        #expect(assembly.take([change(1, continues: true), change(2, continues: true)]).isEmpty)
        let again = assembly.take([change(2, continues: true), change(3), change(1, continues: true)])
        #expect(texts(again) == ["0-3: 1 2 3"])
        #expect(assembly.take([change(2, continues: true), change(3)]).isEmpty)
        #expect(texts(assembly.take([change(4)])) == ["3-4: 4"])
    }

    private func own(_ numbers: ClosedRange<Int64>, to assembly: inout Assembly, size: Int = 1) -> [String] {
        texts(
            assembly.take(
                own: Array(numbers), from: Revision(epoch: 1, number: numbers.lowerBound - 1), size: size))
    }

    @Test func `a commit of this process doesn't wait for the topic, which brings it again`() {
        var assembly = Assembly(limit: 100)
        // Nothing is known of what was before.
        #expect(own(3...3, to: &assembly).isEmpty)
        #expect(texts(assembly.take([change(3)])) == ["2-3: 3"])
        #expect(own(4...5, to: &assembly) == ["3-5: 4 5"])
        #expect(own(4...5, to: &assembly).isEmpty)
        #expect(assembly.take([change(4, continues: true)]).isEmpty)
        #expect(texts(assembly.take([change(5), change(6)])) == ["5-6: 6"])
    }

    @Test func `a commit of this process waits for those of others before it`() {
        var assembly = Assembly(limit: 100)
        _ = assembly.take([change(1)])
        #expect(own(5...5, to: &assembly).isEmpty && own(3...4, to: &assembly).isEmpty)
        #expect(texts(assembly.take([change(2)])) == ["1-2: 2", "2-4: 3 4", "4-5: 5"])
        // The topic may bring them first.
        #expect(own(7...7, to: &assembly).isEmpty)
        #expect(texts(assembly.take([change(6), change(7), change(8)])) == ["5-8: 6 7 8"])
        #expect(own(9...9, to: &assembly) == ["8-9: 9"])
    }

    @Test func `a head brings subscriptions to where a commit of this process continues`() {
        var assembly = Assembly(limit: 100)
        _ = assembly.take([change(1)])
        #expect(own(4...4, to: &assembly).isEmpty)
        #expect(texts(assembly.take([.announcement(Revision(epoch: 1, number: 3))])) == ["3", "3-4: 4"])
    }

    @Test func `a part of a commit of this process that the topic has brought isn't brought again`() {
        var assembly = Assembly(limit: 100)
        _ = assembly.take([change(1), change(2, continues: true)])
        #expect(own(2...3, to: &assembly) == ["1-3: 2 3"])
        #expect(assembly.take([change(3)]).isEmpty)
        #expect(texts(assembly.take([change(4)])) == ["3-4: 4"])
    }

    @Test func `few commits of this process wait, and no large one`() {
        var assembly = Assembly(limit: 10)
        _ = assembly.take([change(1)])
        #expect(own(2...2, to: &assembly, size: 11).isEmpty)
        #expect(own(3...3, to: &assembly, size: 6).isEmpty && own(4...4, to: &assembly, size: 6).isEmpty)
        // The first one was forgotten for the second.
        #expect(texts(assembly.take([change(2)])) == ["1-2: 2"])
        #expect(texts(assembly.take([change(3)])) == ["2-3: 3", "3-4: 4"])
    }

    @Test func `a head within an unfinished commit doesn't end it`() {
        var assembly = Assembly(limit: 100)
        let head = Assembly.Message.announcement(Revision(epoch: 1, number: 1))
        #expect(texts(assembly.take([change(1, continues: true), head])) == ["1"])
        #expect(texts(assembly.take([change(2)])) == ["0-2: 1 2"])
    }

    @Test func `no more than the limit of an unfinished commit is held`() {
        var assembly = Assembly(limit: 10)
        let runs = assembly.take((1...9).map { change($0, continues: $0 < 9, size: 4) })
        // The frame doesn't continue what was sent before the commit: subscriptions read it from Postgres.
        #expect(texts(runs) == ["6-9: 7 8 9"])
    }

    @Test func `a head counts as missed when it is still unseen at the next look`() {
        let partition = PartitionKey(app: "a", partition: Partition(text: "s:p"))
        let revision = { Revision(epoch: 1, number: $0) }
        var heads = MissedHeads()
        let look = { (delivered: Int64, head: Int64) in
            heads.look(delivered: [partition: revision(delivered)], heads: [partition: revision(head)])
        }
        #expect(look(3, 5).isEmpty)
        // It came meanwhile, and another one is on its way.
        #expect(look(5, 6).isEmpty)
        #expect(look(5, 8) == [partition: revision(6)])
        #expect(look(6, 8).isEmpty)
        #expect(look(6, 8) == [partition: revision(8)])
        // A feed that is late, but brings something.
        for number: Int64 in 8...12 { #expect(look(number, number + 100).isEmpty) }
        #expect(look(200, 200).isEmpty)
        // Nobody has it open any more.
        #expect(look(200, 201).isEmpty)
        #expect(heads.look(delivered: [:], heads: [:]).isEmpty)
        #expect(look(200, 201).isEmpty)
    }
}
