import DocumentModel

extension DefinitionReader {
    private static let redirect = "Website-Redirect-Location"
    /// The most bytes of an attribute's value.
    private static let valueLimit = 2048

    /// Reads `hosting/config.json`, or else `hosting` of the first root file that has it; `nil` when hosting isn't enabled.
    func hosting(_ roots: [ConfigNode]) -> Hosting? {
        let own = json("hosting/config.json"), inline = roots.lazy.compactMap { $0.child("hosting") }.first
        if let own, let inline, inline.value != own.value {
            inline.problem(.partShadowed, severity: .warning, "\(own.file) is used: remove one of them")
        }
        let settings = own ?? inline
        guard let settings, settings.bool("enabled") else { return nil }
        var hosting = Hosting()
        if let path = settings.string("default_error_path"), !path.isEmpty {
            hosting.errorPath = ExactText(Self.plain(path))
        }
        hosting.errorStatus = errorStatus(settings)
        if let domain = settings.string("custom_domain"), !domain.isEmpty {
            settings.problem(
                .featureNotServed, severity: .warning, at: "custom_domain",
                "\(domain) isn't served by itself: have the proxy in front of it pass requests on with the Host of the app's own address"
            )
        }
        readMetadata(into: &hosting)
        // The stored form has no hosted files.
        if !files.otherFiles.isEmpty || files.refusedHosted != nil { checkHosted(hosting, settings) }
        return hosting
    }

    /// A path in the folder, without the slash at its beginning.
    private static func plain(_ path: String) -> String {
        path.startsWithBytes(of: "/") ? String(decoding: path.utf8.dropFirst(), as: UTF8.self) : path
    }

    /// Exports have the status under either name, as a number or as text, which may be empty.
    private func errorStatus(_ settings: ConfigNode) -> Int {
        for key in ["default_response_code", "default_error_code"] {
            guard let node = settings.child(key) else { continue }
            if node.value.stringValue?.isEmpty == true { continue }
            let number =
                node.value.stringValue.flatMap { Int($0) } ?? node.value.doubleValue.flatMap { Int(exactly: $0) }
            // 304 has no content, and redirects have no place to go to.
            guard let number, number == 200 || (400...599).contains(number) else {
                node.problem(.fieldValue, "must be 200, or a status from 400 to 599")
                continue
            }
            return number
        }
        return 404
    }

    private func readMetadata(into hosting: inout Hosting) {
        for entry in json("hosting/metadata.json")?.elements ?? [] {
            guard let path = entry.required("path") else { continue }
            var attributes = Hosting.Attributes()
            for attribute in entry.child("attrs")?.elements ?? [] {
                guard let name = attribute.required("name"), let value = attribute.string("value") else { continue }
                guard isSound(value) else {
                    attribute.problem(
                        .fieldValue, at: "value",
                        "must have at most \(Self.valueLimit) bytes, and no control characters: it is a field of HTTP")
                    continue
                }
                let field = Hosting.fields.first { $0.lowercased() == name.lowercased() }
                if let field {
                    attributes.headers.append((field, value))
                } else if name.lowercased() == Self.redirect.lowercased() {
                    attributes.redirect = redirect(value, attribute)
                } else {
                    attribute.problem(
                        .fieldValue, severity: .warning, at: "name",
                        "the attribute \(name) isn't served; there are: \((Hosting.fields + [Self.redirect]).joined(separator: ", "))"
                    )
                }
            }
            let plain = Self.plain(path)
            hosting.attributes[ExactText(plain)] = attributes
            // The stored form has no hosted files.
            if !files.otherFiles.isEmpty, files.otherFiles[Hosting.folder + plain] == nil {
                entry.problem(
                    .fileMissing, severity: .warning, at: "path",
                    "there is no file \(Hosting.folder)\(plain), so what is said of it has no effect: add the file, or remove the entry"
                )
            }
        }
    }

    private func redirect(_ value: String, _ attribute: ConfigNode) -> String? {
        // `//host` would be another host.
        let isPath = value.startsWithBytes(of: "/") && !value.startsWithBytes(of: "//")
        let isSound = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
        if isSound, isPath || value.startsWithBytes(of: "https://") || value.startsWithBytes(of: "http://") {
            return value
        }
        attribute.problem(
            .fieldValue, at: "value", "must be a path that begins with /, or a URL that begins with https:// or http://"
        )
        return nil
    }

    private func isSound(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.count <= Self.valueLimit && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private func checkHosted(_ hosting: Hosting, _ settings: ConfigNode) {
        if let file = files.refusedHosted {
            log.add(
                .fileTooLarge, file: file.text,
                "with this file, those that the app hosts have more than \(AppFiles.otherTotalLimit) bytes or are more than \(AppFiles.otherCountLimit), the limits: serve large ones from an object store, and remove them here"
            )
        }
        if let path = hosting.errorPath, files.otherFiles[Hosting.folder + path.text] == nil {
            settings.problem(
                .fileMissing, severity: .warning, at: "default_error_path",
                "there is no file \(Hosting.folder)\(path): requests for which there is no file get 404 without a page; add the file, or correct the name"
            )
        }
    }
}
