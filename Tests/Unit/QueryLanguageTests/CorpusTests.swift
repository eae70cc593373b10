import Foundation
import FuzzTargets
import SyncEngine
import Testing

/// Inputs that fuzzing has found, and mutations of them from seeds. A fault ends the process; the seed is the test's argument.
@Suite struct CorpusTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fuzz/Corpus")

    private func corpus(of target: FuzzTarget) throws -> [[UInt8]] {
        let folder = Self.root.appendingPathComponent(target.rawValue)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.map { [UInt8](try Data(contentsOf: folder.appendingPathComponent($0))) }
    }

    @Test(arguments: FuzzTarget.allCases)
    func `every input of the corpus ends in a result or an error`(target: FuzzTarget) async throws {
        let inputs = try corpus(of: target)
        #expect(!inputs.isEmpty)
        for input in inputs { await target.run(input) }
    }

    @Test(arguments: FuzzTarget.allCases, [1, 2, 3] as [UInt64])
    func `mutations of them do too`(target: FuzzTarget, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let inputs = try corpus(of: target)
        for _ in 0..<400 {
            var bytes = inputs[Int.random(in: inputs.indices, using: &generator)]
            let other = inputs[Int.random(in: inputs.indices, using: &generator)]
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                case 1: if place < bytes.count { bytes.remove(at: place) }
                case 2: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                case 3: bytes.removeLast(bytes.count - place)
                default:
                    let start = Int.random(in: 0...other.count, using: &generator)
                    bytes.insert(contentsOf: other[start...].prefix(20), at: place)
                }
            }
            await target.run(bytes)
        }
    }
}
