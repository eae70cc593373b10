import DocumentModel

/// Warns of services that functions use by name and that the export doesn't have: calls of them throw an error that the function can
/// catch, as on Atlas.
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
            for (name, line) in FunctionSource.usedServices(function.source)
            where !names.contains(name) && reported.insert(name) {
                log.add(
                    .serviceUnknown, severity: .warning, file: function.file, line: line,
                    "the app has no service \(name), and a call of it throws: add it to data_sources, or correct the name"
                )
            }
        }
    }
}
