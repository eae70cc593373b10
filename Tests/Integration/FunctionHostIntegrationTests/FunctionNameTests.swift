import AppDefinition
import DocumentModel
import Testing

/// What `partita app check` takes for served is what functions are given.
struct FunctionNameTests {
    /// JavaScript for each object of `FunctionNames.served`; the names that are there only to throw are left out.
    private static let objects: [ExactText: String] = [
        "db()": "context.services.get('mongodb-atlas').db('D')",
        "collection()": "context.services.get('mongodb-atlas').db('D').collection('C')",
    ]

    @Test func `the names that an app's check takes for served are those that functions are given`() throws {
        for (object, names) in FunctionNames.served {
            // It depends on the request.
            if ["context.app", "context.environment", "context.request"].contains(object) { continue }
            let expression = Self.objects[object] ?? object.text
            let host = try TestHost([
                "names": """
                exports = () => {
                  const object = \(expression);
                  return Object.keys(object).filter(name => {
                    const text = String(Object.getOwnPropertyDescriptor(object, name).value);
                    return !text.includes("is not supported");
                  });
                }
                """
            ])
            let given = try host.call("names").get().arrayValue?.compactMap(\.stringValue) ?? []
            #expect(Set(texts: given) == names, "\(object)")
        }
    }
}
