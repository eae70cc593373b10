import Foundation

extension ConfigurationKey where Value == String {
    /// A key whose value is any text. Without a default it must be set.
    /// - Parameter problem: What is wrong with a text, beginning with "must" or "has"; it must not quote any part of a secret.
    public static func string(
        _ name: String, default value: String? = nil, isSecret: Bool = false, _ documentation: String,
        problem: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Self {
        ConfigurationKey(
            name, type: isSecret ? "secret" : "string", defaultValue: value, defaultText: value.map { "\"\($0)\"" },
            isSecret: isSecret, documentation,
            parse: { (text: String) throws(InvalidText) in
                if let problem = problem(text) { throw InvalidText(problem) }
                return text
            })
    }

    /// A key whose value names a file that this process can read.
    public static func file(_ name: String, _ documentation: String) -> Self {
        string(name, documentation, problem: UnreadableFile.problem)
    }

    /// A key whose value an engine's client parses: a URL of one of the schemes, or a text in the client's own format, without a
    /// scheme. It must be set.
    ///
    /// It counts as a secret, because such texts may contain passwords.
    /// - Parameter problem: What else is wrong with a text; it must not quote any part of it.
    public static func connection(
        _ name: String, schemes: [String], _ documentation: String,
        problem: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Self {
        let range = schemes.map { "\($0)://" }.joined(separator: ", ")
        return ConfigurationKey(
            name, type: "secret", defaultValue: nil, defaultText: nil, isSecret: true, documentation,
            parse: { (text: String) throws(InvalidText) in
                let scheme = text.prefixMatch(of: /([A-Za-z][A-Za-z0-9+.-]*):\/\//)?.output.1.lowercased()
                if let scheme, !schemes.contains(scheme) {
                    throw InvalidText("must be a URL that begins with \(range)")
                }
                if let problem = problem(text) { throw InvalidText(problem) }
                return text
            })
    }

    /// A key whose value is a URL of one of the schemes, with a host. Without a default it must be set.
    ///
    /// It counts as a secret, because URLs of engines may contain passwords.
    ///
    /// - Parameter isBase: Whether paths are appended to it, so that it may have no query and no fragment.
    public static func url(
        _ name: String, schemes: [String], isBase: Bool = false, default value: String? = nil, _ documentation: String
    ) -> Self {
        let range = schemes.map { "\($0)://" }.joined(separator: ", ")
        return ConfigurationKey(
            name, type: "url", defaultValue: value, defaultText: value, range: range, isSecret: true, documentation,
            parse: { (text: String) throws(InvalidText) in
                guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
                    schemes.contains(scheme), url.host?.isEmpty == false
                else { throw InvalidText("must be a URL that begins with \(range) and has a host") }
                if isBase, url.query != nil || url.fragment != nil {
                    throw InvalidText("must have no query and no fragment, since paths are appended to it")
                }
                return text
            })
    }
}

extension ConfigurationKey where Value == Int {
    /// A key whose value is an integer. Without a default it must be set.
    public static func int(
        _ name: String, default value: Int? = nil, range: ClosedRange<Int>, _ documentation: String
    ) -> Self {
        let text = "\(range.lowerBound)-\(range.upperBound)"
        return ConfigurationKey(
            name, type: "int", defaultValue: value, defaultText: value.map(String.init), range: text, documentation,
            parse: { (number: String) throws(InvalidText) in
                guard let number = Int(number), range.contains(number) else {
                    throw InvalidText("must be an integer, \(text)")
                }
                return number
            })
    }

    /// A key whose value is a number of bytes: `65536`, `64KiB`, `2MiB`, `1GiB`. Without a default it must be set.
    public static func bytes(
        _ name: String, default value: Int? = nil, range: ClosedRange<Int>, _ documentation: String
    ) -> Self {
        let text = "\(ByteCountText.print(range.lowerBound))-\(ByteCountText.print(range.upperBound))"
        return ConfigurationKey(
            name, type: "bytes", defaultValue: value, defaultText: value.map(ByteCountText.print), range: text,
            documentation,
            parse: { (number: String) throws(InvalidText) in
                guard let number = ByteCountText.parse(number), range.contains(number) else {
                    throw InvalidText("must be a number of bytes such as 64KiB, \(text)")
                }
                return number
            })
    }
}

extension ConfigurationKey where Value == Double {
    /// A key whose value is a number. Without a default it must be set.
    public static func double(
        _ name: String, default value: Double? = nil, range: ClosedRange<Double>, _ documentation: String
    ) -> Self {
        let text = "\(range.lowerBound)-\(range.upperBound)"
        return ConfigurationKey(
            name, type: "double", defaultValue: value, defaultText: value.map { "\($0)" }, range: text, documentation,
            parse: { (number: String) throws(InvalidText) in
                guard let number = Double(number), range.contains(number) else {
                    throw InvalidText("must be a number, \(text)")
                }
                return number
            })
    }
}

extension ConfigurationKey where Value == Bool {
    /// A key whose value is `true` or `false`. Without a default it must be set.
    public static func bool(_ name: String, default value: Bool? = nil, _ documentation: String) -> Self {
        ConfigurationKey(
            name, type: "bool", defaultValue: value, defaultText: value.map { "\($0)" }, documentation,
            parse: { (text: String) throws(InvalidText) in
                switch text {
                case "true", "1": return true
                case "false", "0": return false
                default: throw InvalidText("must be true or false")
                }
            })
    }
}

extension ConfigurationKey where Value == Duration {
    /// A key whose value is a duration with its unit: `250ms`, `30s`, `5m`, `1h30m`, `7d`. Without a default it must be set.
    public static func duration(
        _ name: String, default value: Duration? = nil, range: ClosedRange<Duration>, _ documentation: String
    ) -> Self {
        let text = "\(DurationText.print(range.lowerBound))-\(DurationText.print(range.upperBound))"
        return ConfigurationKey(
            name, type: "duration", defaultValue: value, defaultText: value.map(DurationText.print), range: text,
            documentation,
            parse: { (duration: String) throws(InvalidText) in
                guard let duration = DurationText.parse(duration), range.contains(duration) else {
                    throw InvalidText("must be a time with its unit such as 250ms, 30s or 1h30m, \(text)")
                }
                return duration
            })
    }
}

extension ConfigurationKey where Value == [String] {
    /// A key whose value is a list: an array in JSON, otherwise elements separated by commas. Without a default it must be set; an
    /// empty value is an empty list.
    public static func list(_ name: String, default value: [String]? = nil, _ documentation: String) -> Self {
        ConfigurationKey(
            name, type: "list", defaultValue: value,
            defaultText: value.map { "\"\($0.joined(separator: ","))\"" }, documentation,
            parse: { text in
                text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            })
    }
}

extension ConfigurationKey where Value == [String] {
    /// A key whose value is a list of secrets in the format of `list`; empty by default.
    /// - Parameter minimumBytes: the minimum length of each, so that it can't be guessed.
    public static func secrets(_ name: String, minimumBytes: Int, _ documentation: String) -> Self {
        ConfigurationKey(
            name, type: "secrets", defaultValue: [], defaultText: "\"\"",
            range: "each of at least \(minimumBytes) bytes",
            isSecret: true, documentation,
            parse: { (text: String) throws(InvalidText) in
                let secrets = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
                    !$0.isEmpty
                }
                guard secrets.allSatisfy({ $0.utf8.count >= minimumBytes }) else {
                    throw InvalidText(
                        "must be secrets of at least \(minimumBytes) bytes; `openssl rand -hex 32` makes one")
                }
                return secrets
            })
    }
}

extension ConfigurationKey where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// A key whose value is one of a few words. Without a default it must be set.
    public static func choice(_ name: String, default value: Value? = nil, _ documentation: String) -> Self {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return ConfigurationKey(
            name, type: "choice", defaultValue: value, defaultText: value?.rawValue, range: words, documentation,
            parse: { (text: String) throws(InvalidText) in
                guard let value = Value(rawValue: text) else { throw InvalidText("must be one of \(words)") }
                return value
            })
    }
}
