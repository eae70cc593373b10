import DocumentModel
import RealmSync
import SyncEngine
import Testing
import Vectors

struct ChangesetTests {
    @Test func `changesets are read and written as realm-core does`() throws {
        let vectors = try RealmVectors.objects("changesets.jsonl.gz")
        #expect(vectors.count == 1000)
        for (number, vector) in vectors.enumerated() {
            let bytes = vector.bytes("hex"), changeset = try Changeset(bytes)
            let expected = try #require(expectedInstructions(vector))
            #expect(changeset.readable == expected, "line \(number + 1)")
            let isOther = vector["reencoded"] != nil
            #expect(changeset.encoded() == (isOther ? vector.bytes("reencoded") : bytes), "line \(number + 1)")
        }
    }

    /// Damaged changesets: those that realm-core refuses are refused, and the others are read alike. One is refused although realm-core
    /// reads it: an edit of a list whose path doesn't end with an index, which can't be applied.
    @Test func `damaged changesets are refused or read alike`() throws {
        var stricter: [Int: ChangesetError.Code] = [:], refused = 0
        for (number, vector) in try RealmVectors.objects("changesets-bad.jsonl.gz").enumerated() {
            let bytes = vector.bytes("hex")
            do throws(ChangesetError) {
                let changeset = try Changeset(bytes)
                #expect(vector["error"] == nil, "line \(number + 1): \(changeset.readable)")
                #expect(changeset.readable == expectedInstructions(vector), "line \(number + 1)")
            } catch {
                #expect((0...bytes.count).contains(error.offset))
                if vector["error"] == nil { stricter[number + 1] = error.code } else { refused += 1 }
            }
        }
        #expect(refused == 399)
        #expect(stricter == [149: .badPath])
    }

    @Test func `every part of a changeset that is cut off is missed`() throws {
        for vector in try RealmVectors.objects("changesets.jsonl.gz").prefix(200) {
            let bytes = vector.bytes("hex")
            for count in 0..<bytes.count {
                guard let changeset = try? Changeset(Array(bytes.prefix(count))) else { continue }
                #expect(changeset.instructions.count < (vector["instructions"]?.arrayValue?.count ?? 0))
            }
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `mutations end in a changeset that can be written, or an error`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let inputs = try RealmVectors.objects("changesets.jsonl.gz").map { $0.bytes("hex") }.filter { $0.count < 2000 }
        var accepted = 0
        for input in inputs {
            for _ in 0..<20 {
                var bytes = input
                let other = inputs[Int.random(in: inputs.indices, using: &generator)]
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let place = Int.random(in: 0...bytes.count, using: &generator)
                    switch Int.random(in: 0..<5, using: &generator) {
                    case 0: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                    case 1: if place < bytes.count { bytes.remove(at: place) }
                    case 2: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                    case 3: bytes.removeLast(bytes.count - place)
                    default:
                        bytes.insert(contentsOf: other.prefix(Int.random(in: 0...20, using: &generator)), at: place)
                    }
                }
                do throws(ChangesetError) {
                    let changeset = try Changeset(bytes), encoded = changeset.encoded()
                    #expect(try Changeset(encoded).encoded() == encoded)
                    accepted += 1
                } catch {
                    #expect((0...bytes.count).contains(error.offset))
                }
            }
        }
        #expect(accepted > 100)
    }

    @Test func `budgets are enforced`() throws {
        let bytes: [UInt8] = [0x3F, 0, 1, 0x61, 0x3F, 1, 1, 0x62, 4, 0, 0, 1, 2, 0x40, 1, 5, 0, 0, 1, 0]
        _ = try Changeset(bytes, limits: ChangesetLimits(bytes: 20, instructions: 2, strings: 2, pathElements: 2))
        func offset(_ limits: ChangesetLimits) -> Int? {
            do throws(ChangesetError) {
                _ = try Changeset(bytes, limits: limits)
                return nil
            } catch {
                return error.code == .tooLarge ? error.offset : nil
            }
        }
        #expect(offset(ChangesetLimits(bytes: 19)) == 19)
        #expect(offset(ChangesetLimits(strings: 1)) == 5)
        #expect(offset(ChangesetLimits(instructions: 0)) == 8)
        #expect(offset(ChangesetLimits(pathElements: 1)) == 12)
    }
}
