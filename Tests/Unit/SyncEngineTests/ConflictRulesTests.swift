import DocumentModel
import SyncEngine
import Testing

struct ConflictRulesTests {
    // A document that the founder inserted at time 100, revision 1.
    private let inserted = stored(["_id": "d", "a": 1, "b": 2, "p": ["x": 1, "y": 2], "list": [1, 2, 3]])

    // MARK: $set and $unset

    /// An upload is decided while all others wait, so the time must not grow with the square of its size.
    @Test func `the time that an update takes grows with its paths, not with their square`() {
        func seconds(_ count: Int) -> Double {
            let inserted = stored(["_id": "d", "o": [:]])
            let fields = (0..<count).map { Document.Field("o.f\($0)", .int32(Int32($0))) }
            let start = ContinuousClock.now
            let result = inserted.apply(["$set": .document(Document(fields: fields))], by: "d1", at: 200, base: 1)
            #expect(result.document["o"]?.documentValue?.count == count)
            return (ContinuousClock.now - start) / .seconds(1)
        }
        _ = seconds(1000)
        let (few, many) = (seconds(2_000), seconds(32_000))
        #expect(many < 48 * few, "sixteen times as many paths took \(many / few) times as long: \(few) s, \(many) s")
    }

    @Test func `a value that the device saw is changed, however early its clock is`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "late-clock", at: 1, base: 1)
        #expect(result.document["a"] == 5)
        #expect(result.lost.isEmpty)
    }

    @Test func `of two that didn't see each other the later clock wins, in any order of arrival`() {
        let later = inserted.apply(["$set": ["a": 5]], by: "d2", at: 300, base: 1)
        let lost = later.apply(["$set": ["a": 6]], by: "d1", at: 200, base: 1)
        #expect(lost.document["a"] == 5)
        #expect(lost.lost == ["a"])
        #expect(lost.change == AppliedOperation.Change.none)

        let earlier = inserted.apply(["$set": ["a": 6]], by: "d1", at: 200, base: 1)
        #expect(earlier.apply(["$set": ["a": 5]], by: "d2", at: 300, base: 1).document["a"] == 5)
    }

    @Test func `equal clocks are decided by the device's id, in any order of arrival`() {
        let first = inserted.apply(["$set": ["a": 5]], by: "d1", at: 200, base: 1)
        #expect(first.apply(["$set": ["a": 6]], by: "d2", at: 200, base: 1).document["a"] == 6)
        let second = inserted.apply(["$set": ["a": 6]], by: "d2", at: 200, base: 1)
        #expect(second.apply(["$set": ["a": 5]], by: "d1", at: 200, base: 1).document["a"] == 6)
    }

    @Test func `different paths don't conflict`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["b": 6], "$unset": ["p.x": ""]], by: "d2", at: 200, base: 1)
        #expect(result.document == ["_id": "d", "a": 5, "b": 6, "p": ["y": 2], "list": [1, 2, 3]])
        #expect(result.lost.isEmpty)
    }

    @Test func `a device's own writes follow each other, also when its clock was corrected backwards`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["a": 6]], by: "d1", at: 200, base: 1)
        #expect(result.document["a"] == 6)
    }

    @Test func `a write over a value that was seen keeps that value's precedence`() {
        // d1 wrote at 300; d2 saw that and wrote with a clock of 50; d3 saw neither and wrote at 200.
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["a": 6]], by: "d2", at: 50, base: 2)
            .apply(["$set": ["a": 7]], by: "d3", at: 200, base: 1)
        #expect(result.document["a"] == 6)
        #expect(result.lost == ["a"])
    }

    @Test func `a write that loses takes nothing else of its operation with it`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["a": 6, "b": 7]], by: "d2", at: 200, base: 1)
        #expect(result.document["a"] == 5)
        #expect(result.document["b"] == 7)
        #expect(result.lost == ["a"])
        #expect(result.description.updatedFields == ["b": 7])
    }

    // MARK: Parents and children

    @Test func `a parent spares a newer child`() {
        let result = inserted.apply(["$set": ["p.x": 9]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["p": ["x": 0, "z": 0]]], by: "d2", at: 200, base: 1)
        #expect(result.document["p"] == ["x": 9, "z": 0])
        #expect(result.lost.isEmpty)
        // The spared child keeps its clock.
        #expect(result.apply(["$set": ["p.x": 1]], by: "d3", at: 250, base: 1).document["p"]?["x"] == 9)
    }

    @Test func `a parent takes an older child with it`() {
        let result = inserted.apply(["$set": ["p.x": 9]], by: "d1", at: 200, base: 1)
            .apply(["$set": ["p": ["z": 0]]], by: "d2", at: 300, base: 1)
        #expect(result.document["p"] == ["z": 0])
    }

    @Test func `a parent that saw the child takes it, however new it is`() {
        let result = inserted.apply(["$set": ["p.x": 9]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["p": ["z": 0]]], by: "d2", at: 200, base: 2)
        #expect(result.document["p"] == ["z": 0])
    }

    @Test func `removing a parent leaves its newer children`() {
        let result = inserted.apply(["$set": ["p.x": 9]], by: "d1", at: 300, base: 1)
            .apply(["$unset": ["p": ""]], by: "d2", at: 200, base: 1)
        #expect(result.document["p"] == ["x": 9])
    }

    @Test func `a parent without fields loses to a newer child`() {
        let result = inserted.apply(["$set": ["p.x": 9]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["p": 5]], by: "d2", at: 200, base: 1)
        #expect(result.document["p"] == ["x": 9, "y": 2])
        #expect(result.lost == ["p"])
    }

    @Test func `a child loses to a newer parent`() {
        let result = inserted.apply(["$set": ["p": ["z": 0]]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["p.x": 9]], by: "d2", at: 200, base: 1)
        #expect(result.document["p"] == ["z": 0])
        #expect(result.lost == ["p.x"])
    }

    @Test func `a newer child makes a document of an older plain parent`() {
        let result = inserted.apply(["$set": ["p": 5]], by: "d1", at: 200, base: 1)
            .apply(["$set": ["p.x": 9, "p.z": 8]], by: "d2", at: 300, base: 1)
        #expect(result.document["p"] == ["x": 9, "z": 8])
    }

    @Test func `a child that was removed later isn't brought back by an older parent`() {
        let result = inserted.apply(["$unset": ["p.x": ""]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["p": ["x": 0, "z": 0]]], by: "d2", at: 200, base: 1)
        #expect(result.document["p"] == ["z": 0])
    }

    // MARK: Commutative operations

    @Test func `increments always count`() {
        let result = inserted.apply(["$inc": ["a": 1]], by: "d1", at: 300, base: 1)
            .apply(["$inc": ["a": 10]], by: "d2", at: 200, base: 1)
            .apply(["$max": ["b": 9]], by: "d3", at: 50, base: 1)
        #expect(result.document["a"] == 12)
        #expect(result.document["b"] == 9)
    }

    @Test func `an increment raises the path's clock`() {
        let result = inserted.apply(["$inc": ["a": 1]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["a": 100]], by: "d2", at: 200, base: 1)
        #expect(result.document["a"] == 2)
        #expect(result.lost == ["a"])
    }

    @Test func `an older increment doesn't lower it`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
            .apply(["$inc": ["a": 1]], by: "d2", at: 100, base: 1)
            .apply(["$set": ["a": 100]], by: "d3", at: 200, base: 1)
        #expect(result.document["a"] == 6)
    }

    // MARK: Arrays

    @Test func `concurrent pushes all survive`() {
        let result = inserted.apply(["$push": ["list": 4]], by: "d1", at: 300, base: 1)
            .apply(["$push": ["list": 5]], by: "d2", at: 200, base: 1)
            .apply(["$pull": ["list": 1]], by: "d3", at: 100, base: 1)
        #expect(result.document["list"] == [2, 3, 4, 5])
    }

    @Test func `an older assignment of an array loses to a push`() {
        let result = inserted.apply(["$push": ["list": 4]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["list": []]], by: "d2", at: 200, base: 1)
        #expect(result.document["list"] == [1, 2, 3, 4])
        #expect(result.lost == ["list"])
    }

    @Test func `an index applies to the element that the device saw, or not at all`() {
        let seen = inserted.apply(["$set": ["list.1": 9]], by: "d1", at: 50, base: 1)
        #expect(seen.document["list"] == [1, 9, 3])
        let pulled = inserted.apply(["$pull": ["list": 1]], by: "d1", at: 100, base: 1)
        for update in [["$set": ["list.1": 9]], ["$inc": ["list.1": 9]], ["$unset": ["list.1": ""]]] as [Document] {
            let unseen = pulled.apply(update, by: "d2", at: 300, base: 1)
            #expect(unseen.document["list"] == [2, 3])
            #expect(unseen.lost == ["list.1"])
        }
    }

    @Test func `a device sees its own pushes, but not those between them`() {
        let own = inserted.apply(["$push": ["list": 4]], by: "d1", at: 200, base: 1)
            .apply(["$set": ["list.3": 44]], by: "d1", at: 201, base: 1)
        #expect(own.document["list"] == [1, 2, 3, 44])
        let between = inserted.apply(["$push": ["list": ["$each": [0], "$position": 0]]], by: "d2", at: 100, base: 1)
            .apply(["$push": ["list": 4]], by: "d1", at: 200, base: 1)
            .apply(["$set": ["list.3": 44]], by: "d1", at: 201, base: 1)
        #expect(between.document["list"] == [0, 1, 2, 3, 4])
        #expect(between.lost == ["list.3"])
    }

    @Test func `array filters choose elements by their contents`() {
        let start = stored(["_id": "d", "members": [["id": "a", "n": 0], ["id": "b", "n": 0]]])
        let result = start.apply(
            ["$push": ["members": ["$each": [["id": "c", "n": 0]], "$position": 0]]], by: "d1", at: 300, base: 1
        )
        .apply(["$inc": ["members.$[m].n": 1]], filters: [["m.id": "b"]], by: "d2", at: 100, base: 1)
        .apply(["$set": ["members.$[].seen": true]], by: "d3", at: 50, base: 1)
        #expect(
            result.document["members"] == [
                ["id": "c", "n": 0, "seen": true], ["id": "a", "n": 0, "seen": true],
                ["id": "b", "n": 1, "seen": true],
            ])
    }

    @Test func `an array filter that only lost paths use may stay unused`() {
        let start = stored(["_id": "d", "a": 1, "members": [["id": "b"]]])
        let result = start.apply(["$set": ["a": 2]], by: "d1", at: 300, base: 1)
            .apply(["$set": ["a": 3, "members.$[m].n": 1]], filters: [["m.id": "b"]], by: "d2", at: 200, base: 1)
        #expect(result.document["members"] == [["id": "b", "n": 1]])
        #expect(result.lost == ["a"])
    }

    // MARK: Inserts, deletes, incarnations

    @Test func `an insert onto an existing document is merged field by field`() {
        let result = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
        let operation = Operation(collection: "c", id: "d", kind: .insert(["_id": "d", "a": 9, "b": 9, "new": 9]))
        guard case .applied(let merged) = result.decide(operation, by: "d2", at: 200) else {
            Issue.record("not applied")
            return
        }
        let document = merged.document?.document
        #expect(document?["a"] == 5 && document?["b"] == 9 && document?["new"] == 9)
        #expect(document?["list"] == [1, 2, 3])
        #expect(merged.lost == ["a"])
        #expect(merged.change == .updated)
        #expect(merged.document?.incarnation == Revision(epoch: 1, number: 1))
    }

    @Test func `an update of a deleted document, or of another incarnation, is dropped`() {
        let update = Operation(
            collection: "c", id: "d", kind: .update(operators: ["$set": ["a": 1]], arrayFilters: []),
            incarnation: Revision(epoch: 1, number: 7), base: Revision(epoch: 1, number: 9))
        guard case .droppedDeleted = inserted.decide(update, by: "d1", at: 300) else {
            Issue.record("applied to another incarnation")
            return
        }
        guard
            case .droppedDeleted = ConflictRules.apply(update, by: stamp("d1", 300), revision: .provisional(1), to: nil)
        else {
            Issue.record("applied to nothing")
            return
        }
    }

    @Test func `a delete wins over any update, and deleting again changes nothing`() {
        let delete = Operation(
            collection: "c", id: "d", kind: .delete, incarnation: Revision(epoch: 1, number: 1),
            base: Revision(epoch: 1, number: 1))
        let updated = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
        guard case .applied(let deleted) = updated.decide(delete, by: "d2", at: 1) else {
            Issue.record("not applied")
            return
        }
        #expect(deleted.change == .deleted)
        guard
            case .applied(let again) = ConflictRules.apply(
                delete, by: stamp("d3", 1), revision: .provisional(1), to: nil)
        else {
            Issue.record("not applied")
            return
        }
        #expect(again.change == AppliedOperation.Change.none)
    }

    // MARK: Refusals

    @Test(
        arguments: [
            ["$inc": ["p": 1]], ["$set": ["_id": "other"]], ["$frobnicate": ["a": 1]], ["a": 1], ["$set": 1],
            ["$set": ["p": 1, "p.x": 2]], ["$push": ["a": 1]],
        ] as [Document])
    func `an update that can't be applied rejects the changeset`(update: Document) {
        let operation = Operation(
            collection: "c", id: "d", kind: .update(operators: update, arrayFilters: []),
            base: Revision(epoch: 1, number: 1))
        guard case .rejected(let rejection) = inserted.decide(operation, by: "d1", at: 300) else {
            Issue.record("not rejected: \(update)")
            return
        }
        #expect(rejection.code == .badUpdate)
    }

    @Test func `an _id that can't be a key is refused`() {
        for operation in [
            Operation(collection: "c", id: [1], kind: .delete),
            Operation(collection: "c", id: "d", kind: .insert(["_id": "e"])),
        ] {
            guard case .rejected(let rejection) = inserted.decide(operation, by: "d1", at: 300) else {
                Issue.record("not rejected")
                continue
            }
            #expect(rejection.code == .badId)
        }
    }

    @Test func `a present value that is written again wins over earlier writes that arrive later`() {
        let again = inserted.apply(["$set": ["a": 1]], by: "d1", at: 300, base: 1)
        #expect(again.change == .updated)
        let earlier = again.apply(["$set": ["a": 2]], by: "d2", at: 200, base: 1)
        #expect(earlier.document["a"] == 1)
        #expect(earlier.lost == ["a"])
        let later = again.apply(["$set": ["a": 2]], by: "d2", at: 400, base: 1)
        #expect(later.document["a"] == 2)
    }

    @Test func `a present value with a clock that isn't later takes no revision`() {
        let first = inserted.apply(["$set": ["a": 5]], by: "d1", at: 300, base: 1)
        let result = first.apply(["$set": ["a": 5]], by: "d2", at: 300, base: 2)
        #expect(result.change == AppliedOperation.Change.none)
        #expect(result.stored.revision == first.stored.revision)
    }
}

// MARK: A document on its way through operations

/// A document that was inserted at time 100 as revision 1.
private func stored(_ document: Document) -> Step {
    let revision = Revision(epoch: 1, number: 1)
    return Step(
        stored: StoredDocument(
            document: document, incarnation: revision, revision: revision,
            clocks: FieldClocks(inserted: stamp("founder", 100), revision: revision)))
}

private func stamp(_ device: String, _ milliseconds: Int64) -> WriteStamp {
    WriteStamp(author: device, time: HybridTime(milliseconds: milliseconds))
}

private struct Step {
    var stored: StoredDocument
    var lost: [String] = []
    var change = AppliedOperation.Change.inserted
    var description = UpdateDescription()

    var document: Document { stored.document }

    func decide(_ operation: Operation, by device: String, at milliseconds: Int64) -> OperationOutcome {
        let next = Revision(epoch: 1, number: stored.revision.number + 1)
        return ConflictRules.apply(operation, by: stamp(device, milliseconds), revision: next, to: stored)
    }

    func apply(
        _ update: Document, filters: [Document] = [], by device: String, at milliseconds: Int64, base: Int64
    ) -> Step {
        let operation = Operation(
            collection: "c", id: "d", kind: .update(operators: update, arrayFilters: filters),
            incarnation: stored.incarnation, base: Revision(epoch: 1, number: base))
        switch decide(operation, by: device, at: milliseconds) {
        case .applied(let applied):
            return Step(
                stored: applied.document ?? stored, lost: applied.lost, change: applied.change,
                description: applied.updateDescription)
        case .droppedDeleted: Issue.record("dropped")
        case .rejected(let rejection): Issue.record("rejected: \(rejection.reason)")
        }
        return self
    }
}
