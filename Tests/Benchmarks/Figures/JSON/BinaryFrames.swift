import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel

/// What a binary protocol would win: the bytes on the wire of a change of 290 bytes, compressed as `partita.sync.v1` compresses, against
/// the same documents in BSON; of a chunk of 500 documents; and of such a chunk against one that is compressed with a dictionary that both
/// sides have. A ratio below 0.67 would be a win of one and a half. The time to encode is the gateway's, whose documents are text in Postgres;
/// that to decode is the device's, and only to be watched, since the gateway's decides: it serves many.
let binaryFrames = Benchmark(
    Figure("wire.live-bytes", .bytes, goal: .ratio(atLeast: 0.67)),
    Figure("wire.chunk-bytes", .bytes, goal: .ratio(atLeast: 0.67)),
    Figure("wire.chunk-bytes.dictionary", .bytes, goal: .ratio(atLeast: 0.67)),
    Figure("wire.encode", .nanoseconds, goal: .ratio(atLeast: 0.67)),
    Figure("wire.decode", .nanoseconds)
) { bench in
    let sample = try WireSample()
    return try await bench.compare {
        [
            try sample.bytes(of: sample.texts, each: 1), try sample.bytes(of: sample.texts, each: 500),
            try sample.bytes(of: sample.texts, each: 500),
            try await sample.nanoseconds { try sample.bytes(of: sample.texts, each: 500) },
            try await sample.nanoseconds { for text in sample.texts { _ = try ExtendedJSON.parseDocument(text) } },
        ]
    } reference: {
        [
            try sample.bytes(of: sample.binaries, each: 1), try sample.bytes(of: sample.binaries, each: 500),
            try sample.bytes(of: sample.texts, each: 500, dictionary: sample.dictionary),
            // Postgres has documents as text.
            try await sample.nanoseconds {
                try sample.bytes(
                    of: sample.texts.map { try BSON.encode(ExtendedJSON.parseDocument($0)) }, each: 500)
            },
            try await sample.nanoseconds { for binary in sample.binaries { _ = try BSON.decode(binary) } },
        ]
    }
}

/// Messages of a chat, as in the other figures of sync.
private struct WireSample {
    let texts: [[UInt8]]
    let binaries: [[UInt8]]
    /// The last 32 kB of other such documents: as much as deflate looks back.
    let dictionary: [UInt8]

    init() throws {
        let words = "the quick brown fox jumps over a lazy dog while people meet at night for drinks and music in town"
            .split(separator: " ")
        var random = SystemRandomNumberGenerator()
        func document(_ number: Int) -> Document {
            let text = (0..<18).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
            return [
                "_id": .objectId(ObjectId()), "partition": .string("conversation=\(number % 10)"),
                "author": .string("user-\(number % 50)"), "text": .string(text),
                "sentAt": .date(1_700_000_000_000 + Int64(number) * 1234), "likes": .int32(Int32(number % 90)),
                "read": .bool(number.isMultiple(of: 2)),
            ]
        }
        func text(_ document: Document) -> [UInt8] {
            var text: [UInt8] = []
            ExtendedJSON.append(document, mode: .canonical, to: &text)
            return text
        }
        let documents = (0..<4000).map(document)
        texts = documents.map(text)
        binaries = try documents.map { try BSON.encode($0) }
        dictionary = Array((0..<200).map { text(document($0)) }.joined(separator: [UInt8(ascii: ",")]).suffix(32 << 10))
    }

    /// The compressed bytes per document of messages with so many documents each.
    @discardableResult
    func bytes(of documents: [[UInt8]], each count: Int, dictionary: [UInt8] = []) throws -> Double {
        var output = [UInt8](repeating: 0, count: 1 << 20), total = 0
        for begin in stride(from: 0, to: documents.count, by: count) {
            let message = Array(documents[begin..<begin + count].joined(separator: [UInt8(ascii: ",")]))
            let size = reference_deflated(
                message, message.count, dictionary.isEmpty ? nil : dictionary, dictionary.count, &output, output.count)
            guard size > 0 else { throw BenchmarkError("zlib failed") }
            total += size
        }
        return Double(total) / Double(documents.count)
    }

    /// The time per document.
    func nanoseconds(_ body: () throws -> Void) async throws -> Double {
        try await Stopwatch.seconds { try body() } * 1e9 / Double(texts.count)
    }
}
