from sklearn.model_selection import train_test_split

from polykern import MKLClassifier, datasets, inspection, kernels

data = datasets.load_demo()  # or your own: X an array or a DataFrame, y the labels
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target, random_state=0)

family = [  # (name, kernel, columns), columns by position, name or slice
    (view, kernels.RBF(gamma=0.02), columns) for view, columns in data.views.items()
]
model = MKLClassifier(kernels=family, regularizer=1.5, C=10.0).fit(X_train, y_train)
print(f"test accuracy {model.score(X_test, y_test):.3f}", model.summary(), sep="\n\n")
inspection.write_report(model, "my-kernels.html")
