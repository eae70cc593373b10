import DocumentModel

/// What of an app is served, what isn't, and which secrets it needs: the first screen after a check or a deployment.
public struct AppReport: Sendable {
    /// A line of the report.
    public struct Line: Sendable, CustomStringConvertible {
        /// The feature, such as `functions`.
        public let feature: String
        public let text: String

        public var description: String {
            "  \(feature)\(String(repeating: " ", count: max(2, 18 - feature.count)))\(text)"
        }
    }

    public let served: [Line]
    /// One line for each feature that the app uses and that isn't served, with its first place.
    public let unserved: [Line]
    /// One line for each secret, with what needs it.
    public let secrets: [Line]
    /// One line for each kind of problem that the app has, with what to do about it.
    public let remedies: [Line]
    private let title: String

    /// - Parameters:
    ///   - known: the names of the secrets that are set; `nil` where that isn't known, as for an app that is only checked.
    ///   - hostingPlace: where the app's hosted files are served.
    public init(
        _ definition: AppDefinition, problems: [DefinitionProblem], secrets known: Set<ExactText>? = nil,
        hostingPlace: String = "at a host of its own (hosting.url)"
    ) {
        title =
            definition.id.hasSameBytes(as: definition.name) ? definition.id : "\(definition.id) (\(definition.name))"
        served = ServedFeatures(definition, hostingPlace: hostingPlace).lines
        unserved = Self.unserved(problems)
        remedies = Set(problems.map(\.code)).sorted { $0.rawValue < $1.rawValue }.map {
            Line(feature: $0.rawValue, text: $0.remedy)
        }
        secrets = definition.secretUses.map { name, uses in
            let state = known.map { $0.contains(name) ? "set" : "not set" }
            return Line(
                feature: name,
                text: ([state] + [uses.joined(separator: ", ")]).compactMap(\.self).joined(separator: "; "))
        }
    }

    /// The report's text.
    public var lines: [String] {
        func part(_ title: String, _ lines: [Line]) -> [String] {
            lines.isEmpty ? [] : ["\(title):"] + lines.map(\.description)
        }
        return ["app \(title)"] + part("served", served) + part("not served", unserved)
            + part("secrets", secrets) + part("what to do", remedies)
    }

    private static func unserved(_ problems: [DefinitionProblem]) -> [Line] {
        let codes: Set<DefinitionProblem.Code> = [.featureNotServed, .endpointNotServed, .syncTypeUnsupported]
        var places: [(feature: String, first: String, count: Int)] = []
        for problem in problems where codes.contains(problem.code) {
            let feature = feature(of: problem.file, problem.code)
            if let index = places.firstIndex(where: { $0.feature.hasSameBytes(as: feature) }) {
                places[index].count += 1
            } else {
                places.append((feature, problem.file + (problem.line.map { ":\($0)" } ?? ""), 1))
            }
        }
        return places.map { place in
            Line(
                feature: place.feature,
                text: place.first + (place.count > 1 ? " and \(place.count - 1) more" : ""))
        }
    }

    /// The feature that a file configures.
    private static func feature(of file: String, _ code: DefinitionProblem.Code) -> String {
        if code == .syncTypeUnsupported { return "flexible sync" }
        if file.contains("/incoming_webhooks/") { return "webhooks" }
        switch file.splitAtBytes("/").first ?? file {
        case "auth", "auth_providers": return "sign-in"
        case "services", "data_sources": return "services"
        case "functions": return "functions"
        case "http_endpoints", "https_endpoints": return code == .endpointNotServed ? "HTTPS endpoints" : "services"
        case "graphql": return "GraphQL"
        case "log_forwarders": return "log forwarders"
        case "push": return "push messages"
        case "hosting", "realm_config.json", "root_config.json", "config.json", "stitch.json": return "hosting"
        case "triggers": return "triggers"
        case "sync": return "sync"
        default: return file
        }
    }
}
