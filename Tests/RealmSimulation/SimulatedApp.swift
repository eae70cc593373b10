import DocumentModel
import RealmSync

/// A version of the app: its classes, and which of them sync.
struct SimulatedApp: Sendable {
    let version: Int64
    let schema: ObjectSchema
    /// The classes whose objects sync.
    let classes: Set<String>

    /// As in `HistoryStanding.collections`.
    var names: String { ExtendedJSON.print(.array(classes.sorted().map(Value.string))) }

    var target: UploadTarget {
        UploadTarget(
            database: "",
            collections: Dictionary(uniqueKeysWithValues: classes.map { (ExactText($0), $0) }),
            partitionKey: "_partition", partition: "p")
    }

    init(version: Int64 = 1, _ schema: ObjectSchema, classes: Set<String> = ["Box", "Person"]) {
        self.version = version
        self.schema = schema
        self.classes = classes
    }

    /// The next version: with another property, with one of another type, or with boxes that don't sync any more, or again.
    func next(_ generator: inout some RandomNumberGenerator) -> SimulatedApp {
        var schema = schema, classes = classes
        switch Int.random(in: 0..<5, using: &generator) {
        case 0:
            schema.classes["Box"]?.properties[ExactText("p\(version)")] = .init(type: .string, isNullable: true)
        case 1, 2:
            let former = schema.classes["Box"]?.properties["t"]?.type
            schema.classes["Box"]?.properties["t"] = .init(type: former == .int ? .string : .int, isNullable: true)
        default: if classes.remove("Box") == nil { classes.insert("Box") }
        }
        return SimulatedApp(version: version + 1, schema, classes: classes)
    }

    /// The next version, in which everything syncs.
    var complete: SimulatedApp { SimulatedApp(version: version + 1, schema) }
}
