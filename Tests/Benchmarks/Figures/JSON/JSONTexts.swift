import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel

/// The text of a document of 2 kB to its tree.
let jsonParse = Benchmark(Figure("json.parse", .megabytesPerSecond, goal: .ratio(atLeast: 2.5))) { bench in
    let text = try SampleOrder.text()
    return try await bench.compare {
        try await megabytesPerSecond(of: text) {
            for _ in 0..<SampleOrder.rounds { _ = try ExtendedJSON.parseDocument(text) }
        }
    } reference: {
        try await megabytesPerSecond(of: text) {
            guard reference_json_parse(text, text.count, Int32(SampleOrder.rounds)) else {
                throw BenchmarkError("libbson can't read the text")
            }
        }
    }
}

/// The document to its text, in megabytes of our text for both.
let jsonPrint = Benchmark(Figure("json.print", .megabytesPerSecond, goal: .ratio(atLeast: 5))) { bench in
    let text = try SampleOrder.text()
    let document = try ExtendedJSON.parseDocument(text)
    return try await bench.compare {
        try await megabytesPerSecond(of: text) {
            for _ in 0..<SampleOrder.rounds {
                var printed: [UInt8] = []
                ExtendedJSON.append(document, mode: .canonical, to: &printed)
            }
        }
    } reference: {
        try await megabytesPerSecond(of: text) {
            guard reference_json_print(text, text.count, Int32(SampleOrder.rounds)) else {
                throw BenchmarkError("libbson can't read the text")
            }
        }
    }
}

private func megabytesPerSecond(of text: [UInt8], _ body: () async throws -> Void) async throws -> Double {
    try await Stopwatch.rate(SampleOrder.rounds, body) * Double(text.count) / 1e6
}

/// An order of a shop, as apps store it: ids, dates, texts, numbers of all kinds, an array of documents.
private enum SampleOrder {
    static let rounds = 50_000

    static func text() throws -> [UInt8] {
        var lines: [Value] = []
        for number in 1...6 {
            lines.append([
                "sku": .string("SKU-0000\(number)"), "title": .string("Article number \(number) with a usual title"),
                "quantity": .int32(Int32(number)), "price": .double(Double(number) + 10.95),
                "product": .objectId(id(100 + UInt32(number))), "inStock": .bool(number % 2 == 0),
            ])
        }
        let history = ["created", "paid", "packed"].map { state -> Value in
            ["at": .date(1_693_526_400_000), "state": .string(state), "by": .objectId(id(7))]
        }
        let order: Document = [
            "_id": .objectId(id(1)), "_partition": "conversation=64f0c0ffee00000000000042", "kind": "order",
            "number": .int32(4711), "createdAt": .date(1_693_526_400_123), "updatedAt": .date(1_693_526_459_000),
            "customer": [
                "_id": .objectId(id(2)), "name": "Zoë Müller-Lüdenscheidt", "email": "zoe@example.com", "vip": false,
                "score": .double(4.75),
            ],
            "location": ["type": "Point", "coordinates": .array([.double(13.404954), .double(52.520008)])],
            "notes": "Please leave the parcel with the neighbour \"Schmidt\" on the 2nd floor.\nThank you!",
            "tags": ["fragile", "express", "gift", "returning-customer"], "lines": .array(lines),
            "history": .array(history), "total": .double(123.45), "views": .int64(123_456_789_012),
            "deletedAt": .null,
        ]
        var text: [UInt8] = []
        ExtendedJSON.append(order, mode: .canonical, to: &text)
        return text
    }

    private static func id(_ number: UInt32) -> ObjectId { ObjectId(high: 0x64f0_c0ff_ee00_0000, low: number) }
}
