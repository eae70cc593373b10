import DocumentModel
import PartitaClient

/// What `partita bench` writes, and how often.
struct BenchPlan: Sendable {
    /// The type of the `_id`s of the documents.
    enum IDs: String, CaseIterable, Sendable {
        case string, objectId
    }

    /// The most writes of a run, whose times are kept in memory.
    static let maximumWrites = 1_000_000

    let partitions: [Partition]
    let collection: String
    /// The documents' fields besides `_id` and the partition.
    let fields: Document
    /// The field that holds the partition.
    let partitionKey: String
    let ids: IDs
    let writers: Int
    let readers: Int
    /// The number of writes per second of all writers together.
    let perSecond: Double
    let writes: Int
    /// Whether the documents stay.
    let keeps: Bool
    /// What the ids of this run begin with: 16 hexadecimal digits.
    let mark = String(ObjectId().hexString.suffix(16))

    /// The digits in an id after the mark.
    static let digits = 8

    /// When a write is due, counted from the first one.
    func due(_ number: Int) -> Duration { .seconds(Double(number) / perSecond) }

    /// The partition of a writer or reader, which are spread over all of them.
    func partition(ofDevice place: Int) -> Partition { partitions[place % partitions.count] }

    /// The number of devices that have the partition of a write open, except its writer.
    func audience(of number: Int) -> Int {
        let place = number % writers % partitions.count
        func devices(_ count: Int) -> Int { count / partitions.count + (place < count % partitions.count ? 1 : 0) }
        return devices(writers) - 1 + devices(readers)
    }

    func id(_ number: Int) -> Value {
        let hex = String(number, radix: 16)
        let text = mark + String(repeating: "0", count: Self.digits - hex.count) + hex
        return ids == .objectId ? ObjectId(hexString: text).map(Value.objectId) ?? .string(text) : .string(text)
    }

    func document(_ number: Int) -> Document {
        var document: Document = ["_id": id(number)]
        document.fields += fields.fields
        if let value = partition(ofDevice: number % writers).value { document[partitionKey] = value }
        return document
    }
}
