import DocumentModel

/// Finds settings that nothing reads, in the files whose settings are all known: whoever wrote one believes that it has an effect.
struct UnusedFields {
    private struct Place: Hashable {
        @ExactText var file: String
        @ExactText var pointer: String
    }

    /// The objects from which fields were read by name, with the names that were looked up.
    private var objects: [Place: (object: Document, names: Set<ExactText>)] = [:]

    /// The most fields of a file that are reported.
    private static let countLimit = 20

    /// The files, by their beginnings, that are looked at.
    private static let files = [
        "auth/", "auth_providers/", "data_sources/", "environments/", "functions/config.json", "hosting/",
        "http_endpoints/", "https_endpoints/", "services/", "sync/", "triggers/", "values/",
    ]
    /// Files among them of which only those parts are read that decide whether they are served.
    private static let webhooks = "/incoming_webhooks/"
    /// Where a data source has the settings of sync, of which each place but one is left unread.
    private static let innerSync = "/config/sync"

    /// Fields that say nothing about what an app does, that have no effect when they are as here always, or that are read in another way.
    private static let silent: [String: Set<ExactText>] = [
        "": ["_id", "id", "name", "type", "version", "config", "secret_config", "last_modified", "function_id"],
        "http_endpoints/": ["fetch_custom_user_data", "versions"],
        "https_endpoints/": ["fetch_custom_user_data", "versions"],
        "data_sources/": clusters, "services/": clusters,
        "hosting/": ["default_error_code", "default_response_code"],
        "sync/": ["last_disabled"],
        "triggers/": ["schedule_type"],
        "values/": ["private", "value"],
    ]

    /// What Atlas knew a cluster by, and the actions of other services' rules, which old exports have among those of collections.
    private static let clusters: Set<ExactText> = [
        "actions", "clusterId", "clusterType", "groupId", "namespaces", "projectId", "providerName", "region",
        "source_key", "when",
    ]

    /// What to do instead of a setting.
    private static let instead: [ExactText: String] = [
        "maximum_throughput":
            "triggers run as fast as their function, with unordered for several documents at a time: remove it",
        "tolerate_resume_errors": "a trigger always goes on after an interruption, and no event is lost: remove it",
        "event_batching": "the function runs once for each event: remove it",
        "app_default_domain":
            "hosted files are at an address of their own, which a deployment says: have users go there",
        "readPreference": "every read is of Postgres' primary: remove it",
        "readPreferenceTagSets": "every read is of Postgres' primary: remove it",
        "wireProtocolEnabled":
            "no client reaches a database by MongoDB's protocol: use sync, functions, remote access to collections or the data API, and remove it",
    ]

    /// Records that a field of an object is read.
    mutating func asked(for name: String, of object: Document, file: String, pointer: String) {
        guard Self.files.contains(where: file.startsWithBytes(of:)), !file.containsBytes(of: Self.webhooks),
            !pointer.startsWithBytes(of: Self.innerSync)
        else { return }
        objects[Place(file: file, pointer: pointer), default: (object, [])].names.insert(ExactText(name))
    }

    /// The settings without effect, sorted. Complete once everything has been read.
    var found: [(file: String, pointer: String, message: String)] {
        var found: [(file: String, pointer: String, message: String)] = []
        var counts: [ExactText: Int] = [:]
        let off = Set(objects.filter { isOff($0.value.object, $0.key.file) }.keys)
        let places = objects.keys.sorted { ($0.file, $0.pointer) < ($1.file, $1.pointer) }
        for place in places where !isInside(place, off) {
            guard let (object, names) = objects[place] else { continue }
            for field in object.fields
            where !names.contains(field.key) && !field.value.isBlank && !isSilent(field.key, place.file) {
                counts[ExactText(place.file), default: 0] += 1
                guard counts[ExactText(place.file), default: 0] <= Self.countLimit else { continue }
                let instead = Self.instead[ExactText(field.key)] ?? "nothing reads it: remove it, or correct its name"
                found.append(
                    (
                        place.file, "\(place.pointer)/\(JSONPointer.escape(field.key))",
                        "\(field.key) has no effect here; \(instead)"
                    ))
            }
        }
        for (file, count) in counts.sorted(by: { $0.key < $1.key }) where count > Self.countLimit {
            found.append((file.text, "", "\(count - Self.countLimit) more fields have no effect here; remove them"))
        }
        return found
    }

    /// What is off does nothing, whatever else is said of it. Flexible sync is reported as a whole.
    private func isOff(_ object: Document, _ file: String) -> Bool {
        if object["disabled"] == true || object["enabled"] == false { return true }
        guard file.startsWithBytes(of: "sync/") else { return false }
        return object["type"]?.stringValue == "flexible" || ["", "disabled"].contains(object["state"]?.stringValue)
            || object["partition"]?["key"]?.stringValue?.isEmpty == true
    }

    private func isInside(_ place: Place, _ others: Set<Place>) -> Bool {
        var pointer = place.pointer[...]
        while !others.contains(Place(file: place.file, pointer: String(pointer))) {
            guard let end = pointer.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
            pointer = pointer[..<end]
        }
        return true
    }

    private func isSilent(_ name: String, _ file: String) -> Bool {
        Self.silent.contains { file.startsWithBytes(of: $0.key) && $0.value.contains(ExactText(name)) }
    }
}

extension Value {
    /// Whether a setting of this value says as much as none.
    var isBlank: Bool {
        switch self {
        case .null, .bool(false), .string(""): true
        case .array(let items): items.isEmpty
        case .document(let document): document.fields.isEmpty
        default: false
        }
    }
}
