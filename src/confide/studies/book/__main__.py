"""Write the pages of docs/reproduction from the committed results of the studies."""

from confide.studies.book.pages import write_book

if __name__ == "__main__":
    for path in write_book():
        print(path)  # noqa: T201
