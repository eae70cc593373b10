import DocumentModel

/// Warns of services that functions use by name and that the export doesn't have, or that aren't served: calls of them throw an error that
/// the function can catch, as on Atlas.
struct UsedServices {
    let definition: AppDefinition
    let log: ProblemLog

    init(_ definition: AppDefinition, log: ProblemLog) {
        self.definition = definition
        self.log = log
    }

    func report() {
        var names = Set(texts: definition.dataSources.map(\.name) + ["http"])
        if definition.hasDocumentStore("mongodb-atlas") { names.insert("mongodb-atlas") }
        for function in definition.functions {
            var reported: Set<ExactText> = []
            for (name, line) in FunctionSource.usedServices(function.source) {
                let unserved = definition.dataSources.first { $0.name.hasSameBytes(as: name) && $0.kind == nil }
                guard unserved != nil || !names.contains(name), reported.insert(name) else { continue }
                if let unserved {
                    log.add(
                        .featureNotServed, severity: .warning, file: function.file, line: function.line(line),
                        "the service \(name) of type \(unserved.type) isn't served, and a call of it throws: call the vendor's HTTP interface with context.http"
                    )
                } else {
                    log.add(
                        .serviceUnknown, severity: .warning, file: function.file, line: function.line(line),
                        "the app has no service \(name), and a call of it throws: add it to data_sources, or correct the name"
                    )
                }
            }
        }
    }
}
