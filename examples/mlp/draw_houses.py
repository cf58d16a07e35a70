"""Draws houses.csv, a table of 2000 houses with a price (a number) and a style (a class) by rules with noise."""
import random


def house(draw):
    area, year = draw.uniform(40, 240), draw.randint(1900, 2023)
    place = draw.choice(["town", "village", "coast"])
    style = "brick" if year < 1950 else "timber" if place != "town" else "concrete"
    if draw.random() < 0.1:
        style = draw.choice(["brick", "timber", "concrete"])
    price = 1.9 * area + 0.6 * (year - 1900) + {"town": 60, "village": 0, "coast": 110}[place] + draw.gauss(0, 15)
    return f"{area:.1f},{year},{place},{price:.1f},{style}\n"


def main():
    draw = random.Random(1)
    with open("houses.csv", "w") as file:
        file.write("area,year,place,price,style\n" + "".join(house(draw) for _ in range(2000)))


if __name__ == "__main__":
    main()
