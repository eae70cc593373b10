import DocumentModel

import struct Foundation.UUID

/// A document with a value and a list.
struct Card {
    static let collection = "Card"

    let id: String
    let partition: Partition

    var document: Document {
        ["_id": .string(id), "partition": partition.value ?? .null, "number": .int64(0), "tags": []]
    }

    /// What a device writes to one.
    static func update(_ number: Int64) -> Document {
        let tags: Document = ["$each": [.string("tag-\(number)")], "$position": .int64(0)]
        return ["$set": ["number": .int64(number)], "$push": ["tags": .document(tags)]]
    }

    /// Those to which a round of a benchmark writes, without a tag.
    static func deck(in partition: Partition) -> [Card] {
        (0..<10).map { Card(id: "\($0)-\(UUID().uuidString)", partition: partition) }
    }
}
